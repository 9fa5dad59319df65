"""Which runs are worked on at once, and in which order the others follow."""

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from heapq import heappop, heappush
from itertools import count
from typing import Any

from anyio.abc import TaskGroup

from stagepost.checkpoint import Lease, RunInfo, Snapshot

from .._values._state import Values
from ._executor import Executor
from ._lines import Line, Lines
from ._presence import Presence
from ._record import Record
from ._stay import Stay
from ._timers import Timers


class Scheduler:
    """Counts slots, and keeps the queue for them; of a run in it only its record is in memory.

    Urgent runs take no slot: another one may wait for them in a slot of its own. Runs that a limit holds back wait in
    their lines, urgent or not, and take no slot meanwhile. Those that are cancelled only end, and wait for nothing.

    Args:
        presence: Where runs are.
        executor: Takes them to their ends.
        group: Whose tasks work on them, so that no caller's cancellation can lose one.
        slots: How many are worked on at once; None for no limit.
        lines: Where they wait for limits; None if there are none.
        clock: Seconds since 1970.

    Attributes:
        timers: Have runs leave their lines when a minute is over; None if there are no limits.
    """

    def __init__(
        self,
        presence: Presence,
        executor: Executor,
        group: TaskGroup,
        *,
        slots: int | None,
        lines: Lines[Record] | None,
        clock: Callable[[], float],
    ) -> None:
        self._presence = presence
        self._executor = executor
        self._group = group
        self._slots = slots
        self._taken = 0
        self._tasks = 0
        self._queue: list[tuple[int, int, Record]] = []
        self._turns = count()
        self._lines = lines
        self._clock = clock
        self.timers: Timers | None = None
        if lines is not None:
            executor.admits = self._admits

    @property
    def is_idle(self) -> bool:
        """Whether no task works on a run."""
        return self._tasks == 0

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *arguments: object) -> None:
        """Run a function in the group's tasks."""
        self._group.start_soon(work, *arguments)

    def know(self, record: Record, info: RunInfo) -> None:
        """What is known of a run that will be queued, so that it need not be read to see which limits concern it."""
        if self._lines is not None:
            record.lines = self._lines.of(info.workflow, info.labels, info.run_id)

    def submit(self, record: Record) -> None:
        """Have a run taken up that is queued: now, if nothing holds it back, else in its turn."""
        if record.stay is not Stay.QUEUED:  # nothing goes on here any more
            return
        record.turn = next(self._turns)
        self._place(record)

    def hasten(self, record: Record) -> None:
        """Let a run pass by the others, if it is queued: another one may wait for it; it still waits for its limits."""
        record.urgent = True
        if record.stay is not Stay.QUEUED or not (record.line is None or record.cancelled):
            return
        record.line = None
        self._place(record)
        for line in record.lines or ():  # it may have been about to take a place in one
            self._advance(line)

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
        self.know(record, snapshot.run)
        is_held_back = self._full(record) is not None
        has_slot = not (record.urgent or is_held_back) and self._take()
        if is_held_back or not (has_slot or record.urgent):
            self._presence.move(record, Stay.QUEUED)
            self.submit(record)
            told()
            return
        self._tasks += 1
        self._count(record)
        try:
            await self._executor.execute(record, snapshot, lease, recovered=recovered, told=told, values=values)
        finally:
            self._over(record, has_slot=has_slot)

    def free(self, record: Record) -> None:
        """A run that rested goes on."""
        record.freed = False
        self._presence.move(record, Stay.QUEUED)
        self.submit(record)

    def _place(self, record: Record) -> None:
        """Begin with a queued run, or have it wait."""
        line = self._full(record)
        if line is not None:
            self._stand(record, line)
        elif record.urgent:
            self._begin(record, has_slot=False)
        elif self._take():
            self._begin(record, has_slot=True)
        else:
            heappush(self._queue, (record.turn, next(self._turns), record))

    def _begin(self, record: Record, *, has_slot: bool) -> None:
        self._count(record)
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

    def _over(self, record: Record, *, has_slot: bool) -> None:
        """A task has done its work: its slot is the next one's."""
        self._tasks -= 1
        self._taken -= has_slot
        if self._lines is not None:
            self._lines.leave(record)
        if record.stay is Stay.PARKED and (record.freed or record.cancelled):  # it has come while the run went to rest
            record.urgent = record.urgent or record.cancelled
            self.free(record)
        for line in record.lines or ():
            self._advance(line)
        self._fill()
        self._presence.ring()

    def _fill(self) -> None:
        """Begin with the first runs of the queue while there are slots."""
        while self._queue:
            turn, _, record = self._queue[0]
            is_queued = record.stay is Stay.QUEUED and record.turn == turn and record.line is None
            line = self._full(record) if is_queued else None
            if is_queued and line is None and not self._take():
                return
            heappop(self._queue)
            if line is not None:
                self._stand(record, line)
            elif is_queued:
                self._begin(record, has_slot=True)
            for other in record.lines or ():
                self._advance(other)

    # limits

    async def open(self, now: float, limit: int) -> datetime | None:  # noqa: ARG002  # as timers call it
        """Have runs leave the lines whose minute is over; returns when that is so of the next one."""
        if self._lines is None:
            return None
        for line in self._lines.opened(now):
            self._advance(line)
            if line.first() is not None:
                self._lines.crowd(line, now)
        following = self._lines.opens_next()
        return None if following is None else datetime.fromtimestamp(following, UTC)

    def _full(self, record: Record) -> Line[Record] | None:
        """The line that holds a run back."""
        if self._lines is None or record.cancelled:
            return None
        return self._lines.full(record, self._clock())

    def _stand(self, record: Record, line: Line[Record]) -> None:
        """Have a run wait in a line."""
        if self._lines is not None:
            record.stand(line)
            self._expect(self._lines.crowd(line, self._clock()))

    def _expect(self, opens_at: float | None) -> None:
        if opens_at is not None and self.timers is not None:
            self.timers.expect(datetime.fromtimestamp(opens_at, UTC))

    def _advance(self, line: Line[Record]) -> None:
        """Have runs leave a line for as long as it has places for them, and there are slots."""
        while self._lines is not None and (record := self._lines.next(line, self._clock())) is not None:
            if self._full(record) is not None:
                self._lines.send_on(record)
            self._place(record)
            if record.stay is Stay.QUEUED and record.line is None:  # it waits for a slot
                return

    def _count(self, record: Record) -> None:
        record.line = None
        if self._lines is not None and not record.cancelled:
            self._lines.take(record, self._clock())

    def _admits(self, record: Record, info: RunInfo) -> bool:
        """Count a run of which nobody knew which limits concern it; or, if one holds it back, have it wait."""
        if self._lines is None or record.lines is not None:
            return True
        self.know(record, info)
        record.admitted = False
        line = self._full(record)
        if line is None:
            self._count(record)
            return True
        self._presence.move(record, Stay.QUEUED)
        if record.stay is Stay.QUEUED:
            self._stand(record, line)
        return False
