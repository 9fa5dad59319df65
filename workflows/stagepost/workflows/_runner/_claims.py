"""What this runner says to the store as an owner of runs: it joins, checks and claims runs, ends and blocks them."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final
from uuid import uuid4
from weakref import WeakValueDictionary

import anyio

from stagepost.checkpoint import (
    CheckpointError,
    CheckpointStore,
    Closing,
    Commit,
    Happening,
    Keep,
    Lease,
    Owner,
    OwnerExpired,
    OwnershipLost,
    RunInfo,
    RunNotFound,
    RunNotOpen,
    RunOwned,
    RunStatus,
    Snapshot,
    StoreClosed,
    StoreError,
    WaitKind,
    WaitStatus,
)

from .._engine._saying import first_begins
from .._engine._traced import of_resting
from .._execution._environment import Environment
from .._pattern_errors import describe
from .._runs._fitness import Fitness
from .._runs._migration import Prepared
from ..errors import RunCancelled, RunDead, RunLeftOpen, RunnerNotOpen, RunnerStopped
from ._hints import open_waits
from ._presence import Presence

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_ALL: Final = (1 << 63) - 1
_SHOWN: Final = 20  # runs that one report writes to the log, each in a line
_REMEMBERED: Final = 1_000  # reasons; of other runs only the text is known, which the store has
_LOOK: Final = 0.05  # seconds between looks at a run that another owner is to end
_LEAVING: Final = (StoreClosed, RunnerStopped, RunnerNotOpen)


@asynccontextmanager
async def joined(store: CheckpointStore) -> AsyncIterator[Owner]:
    """Be an owner of runs; those that are still open when this is left are free at once.

    Raises:
        StoreInUse: Another one lives, and the store admits no more.
    """
    owner = await store.join(f"runner-{uuid4().hex}")
    try:
        if owner.ttl is None:
            await _leave_to_recover(store, owner)
        yield owner
    finally:
        with anyio.CancelScope(shield=True), suppress(CheckpointError):
            await store.leave(owner)


async def _leave_to_recover(store: CheckpointStore, owner: Owner) -> None:
    """Have the store not tell of what was written before: runs of processes before this one go on by `recover`."""
    after: str | None = ""
    while after is not None:
        page = await store.acquire(owner, after=after)
        news = {info.run_id: info.news for info in page.items if info.news > info.heard}
        if news:
            await store.heard(owner, news)
        after = page.next


class Claims:
    """An owner of the runs of one store.

    Args:
        environment: Where they are stored.
        owner: Who this is.
        fitness: Says which of them can go on.
        presence: Where they are in this process.
        log: Where it is said which runs were left open; shows no secrets.
    """

    def __init__(
        self, environment: Environment, owner: Owner, fitness: Fitness, presence: Presence, log: "BoundLogger"
    ) -> None:
        self._environment = environment
        self._store = environment.store
        self._secrets = environment.secrets
        self._fitness = fitness
        self._presence = presence
        self._log = log
        self.owner = owner
        self.is_leaving = False
        self._reasons: OrderedDict[str, Exception] = OrderedDict()
        self._ending: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    async def join_again(self) -> None:
        """Become another owner, after this one was found dead: it had given no sign of life, so its runs are free.

        Raises:
            StoreError: It could not be said.
        """
        dead = self.owner
        self._presence.lose_all(lambda _: OwnerExpired(dead.name))
        self.owner = await self._store.join(dead.name)

    # claiming

    async def check(self, run_id: str) -> tuple[Snapshot, Prepared]:
        """A run as it is stored, and what it can go on with; if it cannot, it stays as it is.

        Raises:
            RunCancelled: Its end had been asked for, and is committed now.
            WorkflowError: It cannot.
        """
        snapshot = await self._store.load(run_id)
        if snapshot.run.cancelling and snapshot.run.status.is_open:
            await self.cancel(run_id)
            raise RunCancelled(run_id)
        return snapshot, self._fitness.check(snapshot)

    async def claim(self, snapshot: Snapshot, prepared: Prepared, *, reopen: bool = False) -> tuple[Snapshot, Lease]:
        """Claim a run as it was read, and bring it up to the version of its workflow.

        Returns:
            It as it is stored now, but perhaps without news that has come since it was read; and the lease.

        Raises:
            RunOwned: Another owner has it, which lives.
            RunNotOpen: It has ended.
        """
        run = snapshot.run
        shape = prepared.definition.workflow.shape
        is_known = snapshot.shape is not None and run.shape == shape.id
        migrated = prepared.migrated
        begins = _begins(snapshot, prepared) if run.keep is Keep.ALL else ()
        given = None if is_known else shape
        lease = await self._store.claim(self.owner, run.run_id, reopen=reopen, shape=given, begins=begins)
        if reopen and migrated is not None:  # items that had failed wait again
            migrated = prepared.definition.migrated(await self._store.load(run.run_id))
        if migrated is not None:
            await self._store.migrate(lease, migrated)
        for place, why in prepared.unfit.items():
            await self._store.reopen(lease, place, self._secrets.mask(why))
        if migrated is not None or prepared.unfit or reopen:
            return await self._store.load(run.run_id), lease
        is_attempt = run.owner not in (None, self.owner.id)
        return snapshot._replace(run=run._replace(attempts=run.attempts + is_attempt)), lease

    # ends that are committed over the head of whoever executes a run

    async def cancel(self, run_id: str, patience: float = 0.0) -> None:
        """Commit the end of a run whose cancellation was requested, unless it has ended by itself.

        Args:
            run_id: The run.
            patience: Seconds that another owner gets to end it.
        """
        until = anyio.current_time() + patience
        with suppress(RunNotOpen, RunNotFound):
            while True:
                force = anyio.current_time() >= until
                try:
                    await self._end(run_id, Closing(RunStatus.CANCELLED, heard=_ALL), force=force)
                except RunOwned:
                    await anyio.sleep(_LOOK)
                else:
                    break
        record = self._presence.find(run_id)
        if record is not None:
            self._presence.end(record, RunStatus.CANCELLED, error=RunCancelled(run_id))

    async def bury(self, info: RunInfo) -> RunDead:
        """Commit that a run is not taken up any more; returns why.

        Raises:
            RunNotOpen: It has ended since.
        """
        error = RunDead(info.run_id, info.attempts)
        await self._end(info.run_id, Closing(RunStatus.DEAD, describe(error), heard=_ALL))
        self._presence.bury(info, error)
        return error

    async def _end(self, run_id: str, closing: Closing, *, force: bool = False) -> None:
        """Commit an end, and tell the runs that wait for it; also of an end that the run has come to by itself.

        Raises:
            RunNotOpen: It has.
        """
        ending = self._ending.setdefault(run_id, anyio.Lock())  # two at once would take the lease from each other
        try:
            async with ending:
                await self._close(run_id, closing, force=force)
        finally:
            self._presence.rooms.ring(run_id)
            await self._store.release(run_id)

    async def _close(self, run_id: str, closing: Closing, *, force: bool) -> None:
        while True:
            lease = await self._store.claim(self.owner, run_id, force=force, counts=False)
            with suppress(OwnershipLost):  # somebody else here has claimed it in between, to go on with it
                await self._store.commit(Commit(lease=lease, closing=closing))
                await self._trace(run_id, closing)
                return

    async def _trace(self, run_id: str, closing: Closing) -> None:
        """Have the trace of a run end that nobody executes."""
        given = self._environment
        if given.tracer is None:
            return
        with suppress(CheckpointError):  # nothing is kept of it
            info = await self._store.info(run_id)
            workflow = self._fitness.registry.same(info)
            agent = None if workflow is None else workflow.traced_agent
            tracing = given.tracer.run(of_resting(info, agent, given.clock, given.secrets))
            tracing.began()
            tracing.ended("cancelled" if closing.status is RunStatus.CANCELLED else "failed", None)

    # runs that stay open

    async def leave(self, run_id: str, error: BaseException) -> None:
        """This runner does not go on with a run: whoever waits for it is told why, and so is whoever looks at its row.

        What concerns the runner or the store as a whole is no reason of a run's, and is told by them.
        """
        if await self._leave(run_id, error):
            self._write(run_id, error)

    async def report(self, found: Mapping[str, BaseException]) -> None:
        """The same of all that a recovery has found."""
        noted = [run_id for run_id, error in found.items() if await self._leave(run_id, error)]
        for run_id in noted[:_SHOWN]:
            self._write(run_id, found[run_id])
        if len(noted) > _SHOWN:
            self._log.error("more runs left open", runs=len(noted) - _SHOWN)

    def reason(self, info: RunInfo) -> Exception | None:
        """Why a run that is to go on does not; the very error, if it was found here and not long ago.

        Of one that rests its row may say so because of code that was there before: what counts is whether it fits now.
        """
        if info.blocked is None or info.status is not RunStatus.RUNNING:
            return None
        return self._reasons.get(info.run_id) or RunLeftOpen(info.run_id, info.blocked)

    async def unblock(self, run_id: str) -> None:
        """A run can go on again."""
        await self._store.block(self.owner, run_id, None)

    def lose_all(self, failure: StoreError) -> None:
        """The store takes nothing more, so that all are left open."""
        if not isinstance(failure, StoreClosed):
            self._log.error("all runs left open", why=describe(failure))
        self._presence.close(lambda _: failure)

    async def _leave(self, run_id: str, error: BaseException) -> bool:
        """Tell those who wait; returns whether it is to be written to the log."""
        is_own = not isinstance(error, (StoreError, RunOwned, *_LEAVING))
        try:
            if is_own and not self.is_leaving and isinstance(error, Exception):
                self._remember(run_id, error)
                with suppress(CheckpointError):  # a store that cannot be written any more says so by itself
                    await self._store.block(self.owner, run_id, self._secrets.mask(describe(error)))
        finally:
            record = self._presence.find(run_id)
            if record is not None:
                self._presence.lose(record, error)
            with suppress(CheckpointError):  # a store that cannot be read any more says so by itself
                await self._lose_above(run_id, error)
        return not (self.is_leaving or isinstance(error, (RunOwned, *_LEAVING)))

    def _remember(self, run_id: str, error: Exception) -> None:
        self._reasons[run_id] = error
        if len(self._reasons) > _REMEMBERED:
            self._reasons.popitem(last=False)

    async def _lose_above(self, run_id: str, error: BaseException) -> None:
        """Those that rest until the run has ended are told as well."""
        if self._presence.has_parents:
            waits = [(wait.run_id, wait.wait.name) async for wait in open_waits(self._store, kind=WaitKind.CHILD)]
            for record in self._presence.above(run_id, waits):
                self._presence.lose(record, error)

    def _write(self, run_id: str, error: BaseException) -> None:
        self._log.error("run left open", run_id=run_id, why=describe(error))


def _begins(snapshot: Snapshot, prepared: Prepared) -> Sequence[Happening]:
    """What begins when a run is claimed, for its history; nobody knows yet if it is migrated."""
    waiting = [wait.place for wait in snapshot.waits if wait.status is WaitStatus.OPEN]
    return () if prepared.migrated else first_begins(prepared.definition.workflow.plan, snapshot.root, waiting)
