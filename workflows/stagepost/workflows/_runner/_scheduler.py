"""Which runs are worked on at once, and in which order the others follow."""

from collections.abc import Callable, Coroutine
from typing import Any

from anyio.abc import TaskGroup

from stagepost.checkpoint import Lease, Snapshot

from .._values._state import Values
from ._executor import Executor
from ._presence import Presence
from ._record import Record
from ._stay import Stay


class Scheduler:
    """Counts slots, and keeps the queue for them; of a run in it only its record is in memory.

    Urgent runs take no slot: another one may wait for them in a slot of its own.

    Args:
        presence: Where runs are.
        executor: Takes them to their ends.
        group: Whose tasks work on them, so that no caller's cancellation can lose one.
        slots: How many are worked on at once; None for no limit.
    """

    def __init__(self, presence: Presence, executor: Executor, group: TaskGroup, *, slots: int | None) -> None:
        self._presence = presence
        self._executor = executor
        self._group = group
        self._slots = slots
        self._taken = 0
        self._tasks = 0
        self._queue: dict[str, Record] = {}

    @property
    def is_idle(self) -> bool:
        """Whether no task works on a run."""
        return self._tasks == 0

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *arguments: object) -> None:
        """Run a function in the group's tasks."""
        self._group.start_soon(work, *arguments)

    def submit(self, record: Record) -> None:
        """Have a run taken up that is queued: now, if it is urgent or a slot is free, else in its turn."""
        if record.stay is not Stay.QUEUED:  # nothing goes on here any more
            return
        has_slot = not record.urgent and self._take()
        if has_slot or record.urgent:
            self._begin(record, has_slot=has_slot)
        else:
            self._queue[record.run_id] = record

    def hasten(self, record: Record) -> None:
        """Let a run pass by the others, if it is queued: another one may wait for it."""
        record.urgent = True
        if record.stay is Stay.QUEUED and self._queue.pop(record.run_id, None) is not None:
            self._begin(record, has_slot=False)

    async def admit(
        self,
        record: Record,
        snapshot: Snapshot,
        lease: Lease,
        told: Callable[[], None],
        *,
        recovered: bool = False,
        values: Values | None = None,
    ) -> None:
        """Work on a run that was stored or claimed just now, in the running task, or put it into the queue.

        Args:
            record: The run.
            snapshot: It as it is stored.
            lease: The right to commit to it.
            told: Called when its state is known.
            recovered: Whether it was begun before.
            values: Its values, where the snapshot has them not.
        """
        record.urgent = record.urgent or record.cancelled
        has_slot = not record.urgent and self._take()
        if not has_slot and not record.urgent:
            self._presence.move(record, Stay.QUEUED)
            if record.stay is Stay.QUEUED:
                self._queue[record.run_id] = record
            told()
            return
        self._tasks += 1
        try:
            await self._executor.execute(record, snapshot, lease, recovered=recovered, told=told, values=values)
        finally:
            self._over(record, has_slot=has_slot)

    def _begin(self, record: Record, *, has_slot: bool) -> None:
        self._presence.move(record, Stay.CLAIMING)
        self._tasks += 1
        self._group.start_soon(self._work, record, has_slot)

    async def _work(self, record: Record, has_slot: bool) -> None:  # noqa: FBT001  # start_soon knows no keywords
        try:
            await self._executor.take_up(record)
        finally:
            self._over(record, has_slot=has_slot)

    def _take(self) -> bool:
        """Take a slot, if one is free."""
        if self._slots is not None and self._taken >= self._slots:
            return False
        self._taken += 1
        return True

    def free(self, record: Record) -> None:
        """A run that rested goes on."""
        record.freed = False
        self._presence.move(record, Stay.QUEUED)
        self.submit(record)

    def _over(self, record: Record, *, has_slot: bool) -> None:
        """A task has done its work: its slot is the next one's."""
        self._tasks -= 1
        self._taken -= has_slot
        if record.stay is Stay.PARKED and (record.freed or record.cancelled):  # it has come while the run went to rest
            record.urgent = record.urgent or record.cancelled
            self.free(record)
        while self._queue:
            record = self._queue[next(iter(self._queue))]
            if record.stay is not Stay.QUEUED:
                del self._queue[record.run_id]
            elif self._take():
                del self._queue[record.run_id]
                self._begin(record, has_slot=True)
            else:
                break
        self._presence.ring()
