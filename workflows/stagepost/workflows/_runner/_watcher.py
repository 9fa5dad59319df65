"""Hearing what the store tells this runner.

All that is written for a run from outside comes this way, whoever has written it, in this process or another: answers,
signals, word of effects, cancellations, due times, ends of children.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from stagepost.checkpoint import (
    Cancelled,
    CannotDecrypt,
    Change,
    CheckpointError,
    CheckpointStore,
    CorruptRun,
    Freed,
    Lost,
    News,
    NewWait,
    Owner,
    OwnerExpired,
    OwnershipLost,
    RunNotFound,
    StoreClosed,
    StoredWait,
    StoreError,
    StoreFailed,
    WaitKind,
    WaitStatus,
)

from .._ids import is_child
from .._patience import until_saved
from ..errors import ChildElsewhere
from ._claims import Claims
from ._hints import open_waits
from ._presence import Presence
from ._record import Record
from ._stay import Stay
from ._timers import Timers

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_SOON: Final = 0.05  # seconds in which what was heard is collected before the store is told


class Scheduling(Protocol):
    """Has runs worked on; it knows the executor, which knows this module."""

    def submit(self, record: Record) -> None:
        """Have a queued run taken up."""
        ...

    def hasten(self, record: Record) -> None:
        """Let it pass by the others."""
        ...

    def free(self, record: Record) -> None:
        """Have a parked run taken up."""
        ...


class Watcher:
    """Consumes the changes of one owner.

    Args:
        store: Where they come from.
        claims: The owner.
        presence: Where the runs are.
        clock: Seconds since 1970.
        spawn: Runs a function in the runner's task group.
        log: Where failures are logged.

    Attributes:
        timers: End the waits that are due.
    """

    def __init__(
        self,
        store: CheckpointStore,
        claims: Claims,
        presence: Presence,
        clock: Callable[[], float],
        spawn: Callable[..., object],
        *,
        log: "BoundLogger",
    ) -> None:
        self._store = store
        self._claims = claims
        self._presence = presence
        self._spawn = spawn
        self._scheduling: Scheduling | None = None
        self._unheard: dict[str, int] = {}  # what the store is to be told that it was heard
        self.timers = Timers(store.expire, clock, spawn, log=log)
        self._has_recovered = False

    # changes

    async def run(self, scheduling: Scheduling) -> None:
        """Do what the store tells, until it tells nothing more for good: every run hears of that by itself."""
        self._scheduling = scheduling
        owner: Owner | None = None
        with suppress(StoreClosed, StoreFailed):
            while owner is not self._claims.owner:  # a dead one is told nothing more; there is another one by then
                owner = self._claims.owner
                if owner.ttl is not None:
                    self._spawn(self._live, owner, owner.ttl)
                async for change in self._store.changes(owner):
                    self.take(change)
                if owner.ttl is not None and not self._claims.is_leaving:
                    await self._claims.join_again()

    async def _live(self, owner: Owner, ttl: float) -> None:
        """Give signs of life, where there may be several owners, and take up the runs of those that give none."""
        while self._claims.owner is owner:
            await anyio.sleep(ttl / 4)
            with suppress(StoreError, OwnerExpired):
                if await self._store.heartbeat(owner) and self._has_recovered:
                    await self._take_over(owner)

    async def _take_over(self, owner: Owner) -> None:
        """Runs of owners that have left or are dead go on here."""
        for info in (await self._store.acquire(owner)).items:
            self._free(info.run_id, self._presence.find(info.run_id))
        self.timers.look()  # those that rest, too

    def take(self, change: Change) -> None:
        """Do what a change asks for; nothing, where it was done already."""
        record = self._presence.find(change.run_id)
        self._presence.rooms.ring(change.run_id)
        match change:
            case News():
                self._hear_soon(change)
                if record is not None:
                    self._tell(record, change.news)
            case Freed():
                self._hear_soon(change)
                self._free(change.run_id, record)
            case Cancelled():
                self._hear_soon(change)
                self.cancel(change.run_id)
            case Lost():
                if record is not None:
                    self._lose(record)

    def cancel(self, run_id: str) -> None:
        """The end of a run was requested: what is executed is cancelled, the others are ended without a slot."""
        record = self._presence.find(run_id)
        if record is None:
            record = self._presence.begin(run_id, "", Stay.QUEUED)
            record.urgent = True
            self._submit(record)
            return
        record.cancelled = True
        if record.execution is not None:
            record.execution.interrupt()
        elif record.stay is Stay.QUEUED:
            self._schedule.hasten(record)
        elif record.stay is Stay.PARKED:
            record.urgent = True
            self._schedule.free(record)

    def _free(self, run_id: str, record: Record | None) -> None:
        if record is None:
            record = self._presence.begin(run_id, "", Stay.QUEUED)
            record.urgent = is_child(run_id)  # its parent may wait for it, in a slot
            self._submit(record)
        elif record.stay is Stay.PARKED:
            record.urgent = is_child(run_id)
            self._schedule.free(record)
        elif record.stay in (Stay.RUNNING, Stay.CLAIMING):  # its task is about to see that it rests
            record.freed = True

    def _submit(self, record: Record) -> None:
        self._schedule.submit(record)

    @property
    def _schedule(self) -> Scheduling:
        assert self._scheduling is not None  # noqa: S101  # nothing changes before `run`
        return self._scheduling

    def _lose(self, record: Record) -> None:
        if record.execution is not None:
            record.execution.interrupt()
        self._presence.lose(record, OwnershipLost(record.run_id, 0, 0))

    def _tell(self, record: Record, count: int) -> None:
        """Have a run that is executed read what has come."""
        record.told = max(record.told, count)
        if record.execution is not None and record.told > record.execution.journal.heard:
            record.execution.signals.notice()  # it may be one; a step that looks for signals now reads them
            if not record.is_hearing:
                record.is_hearing = True
                self._spawn(self._hear, record)

    async def _hear(self, record: Record) -> None:
        try:
            while (execution := record.execution) is not None and record.told > execution.journal.heard:
                await execution.listen()
        except CheckpointError:  # it meets the same at its next commit
            return
        finally:
            record.is_hearing = False

    # what was heard

    def _hear_soon(self, change: News | Freed | Cancelled) -> None:
        if not self._unheard:
            self._spawn(self._say_heard)
        self._unheard[change.run_id] = change.news

    async def _say_heard(self) -> None:
        """Tell the store what need not be told again; runs that have ended or rest have said so themselves."""
        await anyio.sleep(_SOON)
        heard = {run_id: news for run_id, news in self._unheard.items() if self._is_held(run_id)}
        self._unheard = {}
        with suppress(CheckpointError):
            if heard:
                await self._store.heard(self._claims.owner, heard)

    def _is_held(self, run_id: str) -> bool:
        """Whether the store is to be told: by a commit that parks or ends a run, it is told already."""
        record = self._presence.find(run_id)
        return record is not None and record.stay is not Stay.PARKED

    # waits that end by themselves

    async def expect(self, wait: NewWait) -> None:
        """A wait is about to be opened.

        Raises:
            ChildElsewhere: It is for a run that this store does not hold, so that nobody would hear of its end.
        """
        if wait.kind is WaitKind.CHILD:
            try:
                await self._store.info(wait.name)
            except RunNotFound:
                raise ChildElsewhere(wait.name) from None
            if (child := self._presence.find(wait.name)) is not None:
                child.awaited = True

    async def opened(self, wait: StoredWait) -> None:
        """A wait was opened."""
        if wait.due_at is not None:
            self.timers.expect(wait.due_at)
        if wait.kind is WaitKind.CHILD:
            await self._look_after(wait.name)

    def open(self, waits: Iterable[StoredWait]) -> None:
        """A run was taken up that waits already: while it had failed, or was another owner's, nobody looked at that."""
        for wait in waits:
            if wait.status is WaitStatus.OPEN and wait.due_at is not None:
                self.timers.expect(wait.due_at)

    async def ended(self, run_id: str) -> None:
        """A run has ended that others may wait for."""
        with suppress(CheckpointError):  # the run's end is saved; `recover` finds those who wait for it
            await until_saved(partial(self._store.release, run_id))

    async def recover(self) -> Mapping[str, CorruptRun | CannotDecrypt]:
        """End the waits that nobody has ended while no runner was there, and those that are due from now on.

        Returns:
            Runs that others wait for, and of which nobody can say whether they have ended.
        """
        seen, damaged = set[str](), dict[str, CorruptRun | CannotDecrypt]()
        async for wait in open_waits(self._store, kind=WaitKind.CHILD):
            child = wait.wait.name
            if child not in seen:
                seen.add(child)
                try:
                    await self._look_after(child)
                except (CorruptRun, CannotDecrypt) as error:
                    damaged[child] = error
        await self.timers.expire()
        self.timers.keep()
        self._has_recovered = True
        return damaged

    async def _look_after(self, child: str) -> None:
        """A child may have ended before anybody waited for it."""
        try:
            is_open = (await self._store.info(child)).status.is_open
        except RunNotFound:  # deleted since; asking it again says so
            is_open = False
        if not is_open:
            await self._store.release(child)
