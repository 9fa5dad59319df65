"""Taking runs to their ends, or until they rest, each by one task."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import perf_counter

from stagepost.checkpoint import (
    CheckpointError,
    Lease,
    RunInfo,
    RunNotFound,
    RunNotOpen,
    RunOwned,
    RunStatus,
    Snapshot,
    StoredWait,
)

from .._containment import ends_all, own_failure
from .._engine._branch import Branch
from .._engine._engine import observed
from .._engine._traced import of_stored
from .._execution._children import Children
from .._execution._environment import Environment
from .._execution._execution import Execution
from .._execution._journal import StoredJournal
from .._execution._ledger import Ledger
from .._execution._signal_box import SignalBox
from .._execution._signals import Left, Parked, Stopping
from .._ids import open_waits, wait_id_of
from .._lifespans import Lifespans
from .._pattern_errors import describe
from .._plans._plan import Plan
from .._runs._compatibility import misfit, own
from .._runs._fitness import Fitness
from .._runs._migration import Definition
from .._values._state import Values
from ..errors import (
    IncompatibleCheckpoint,
    LifespanFailed,
    RunCancelled,
    RunFailed,
    RunnerNotOpen,
    RunnerStopped,
    RunNotHeld,
    WorkflowError,
)
from ._claims import Claims
from ._presence import Presence
from ._record import Record
from ._run import children_of, end_as_stored
from ._stay import Stay
from ._watcher import Watcher


class Executor:
    """Reads, claims and executes runs, and tells their records what has become of them.

    Args:
        environment: What they are executed with.
        presence: Where they are.
        claims: Makes this runner their owner.
        fitness: Finds their definitions.
        watcher: Is told of waits, and of runs that have ended.
        lifespans: What is open around runs.
        children: Starts the runs that their steps want.

    Attributes:
        admits: Whether limits let a run go on; if not, it is queued. None: there are none.
        note: Has the store count a run for limits. None: there are none.
    """

    def __init__(  # noqa: PLR0917  # all that it works with, each of another type
        self,
        environment: Environment,
        presence: Presence,
        claims: Claims,
        fitness: Fitness,
        watcher: Watcher,
        lifespans: Lifespans,
        children: Children,
    ) -> None:
        self._environment = environment
        self._presence = presence
        self._claims = claims
        self._fitness = fitness
        self._watcher = watcher
        self._lifespans = lifespans
        self._children = children
        self._stopping = False
        self.admits: Callable[[Record, RunInfo], bool] | None = None
        self.note: Callable[[Record], Awaitable[None]] | None = None

    def stop(self) -> None:
        """Start no further step of any run."""
        self._stopping = True
        for record in self._presence.running():
            if record.execution is not None:
                record.execution.stop()

    async def take_up(self, record: Record) -> None:
        """Claim a run whose turn it is, and work on it."""
        began = perf_counter()
        try:
            claimed = await self.claim(record)
        except BaseException as error:
            await self._give_up(record, error)
            if ends_all(error):
                raise
        else:
            if claimed is not None:
                patience = perf_counter() - began
                await self.execute(record, *claimed, recovered=True, patience=patience)

    async def claim(self, record: Record) -> tuple[Snapshot, Lease] | None:
        """Claim a run, unless it rests and is not to go on, or a limit holds it back; None then.

        Raises:
            RunNotOpen: It has ended.
            WorkflowError: It cannot go on.
            CheckpointError: It could not be claimed.
        """
        snapshot, prepared = await self._claims.check(record.run_id)
        record.definition, record.workflow = prepared.definition, snapshot.run.workflow
        if snapshot.run.status is RunStatus.WAITING and not record.must_go_on:  # what has come is not what it waits for
            self._presence.park(record, open_waits(snapshot), children_of(snapshot.waits))
            return None
        if self.admits is not None and not (record.reopened or self.admits(record, snapshot.run)):
            return None
        workflow = prepared.definition.workflow
        if workflow.lifespan is not None:
            await self._lifespans.enter(workflow.name, workflow.lifespan)
        if self._stopping:
            raise RunnerStopped(record.run_id)
        claimed = await self._claims.claim(snapshot, prepared, reopen=record.reopened)
        if self._stopping:
            raise RunnerStopped(record.run_id)
        record.must_go_on = False
        return claimed

    async def execute(
        self,
        record: Record,
        snapshot: Snapshot,
        lease: Lease,
        *,
        recovered: bool,
        told: Callable[[], None] | None = None,
        patience: float = 0.0,
        values: Values | None = None,
    ) -> None:
        """Work on a claimed run as long as something of it can go on.

        Args:
            record: It.
            snapshot: It as it was read.
            lease: The right to commit to it.
            recovered: Whether it was begun before.
            told: Called when its state is known.
            patience: Seconds that taking it up took.
            values: Its values, where the snapshot has them not.
        """
        self._presence.move(record, Stay.RUNNING)
        record.freed = False  # that was before it was claimed
        execution = record.execution = self._execution(record, snapshot, lease)
        self._presence.rooms.begin(execution)
        if told is not None:
            told()
        execution.patience = patience
        self._watcher.open(snapshot.waits)
        try:
            if self.note is not None:
                await self.note(record)
            if max(record.told, lease.news) > execution.journal.heard:
                await execution.listen()  # what has come since it was read
            workflow = _definition(record).workflow
            if workflow.lifespan is not None:
                execution.resources = await self._lifespans.enter(workflow.name, workflow.lifespan)
            if record.cancelled:
                execution.interrupt()
            branch = Branch(execution, workflow.plan, snapshot.root, own=values)
            await self._advance(record, branch, lease.row, recovered=recovered)
        except BaseException as error:
            await self._tell(record, execution, snapshot.run, error)
            if ends_all(error):
                raise
        finally:
            record.execution = None
            self._presence.rooms.finish(execution)
        if record.awaited and not record.status.is_open:
            await self._watcher.ended(record.run_id)

    async def _advance(self, record: Record, branch: Branch, row: int, *, recovered: bool) -> None:
        """Take a run to its end.

        Raises:
            Parked: It rests.
        """
        try:
            await observed(branch.execution, branch, recovered=recovered)
        finally:  # whatever has become of it, somebody may go on with what it has said
            self._environment.lists.note(row, branch.refs, branch.own, branch.plan.schema)
        try:
            state = branch.view()
        except BaseException as error:  # noqa: BLE001  # the run has completed, and nobody can read what came of it
            self._presence.end(record, RunStatus.COMPLETED, error=_unread(record, own_failure(error)))
        else:
            self._presence.end(record, RunStatus.COMPLETED, state=state)

    def _execution(self, record: Record, snapshot: Snapshot, lease: Lease) -> Execution:
        """A claimed run in this process."""
        given, run, workflow = self._environment, snapshot.run, _definition(record).workflow
        journal = StoredJournal(
            given.store,
            lease,
            self._watcher,
            is_attempt=run.attempts > 0,
            heard=run.news,
            misfit=partial(self._misfit, workflow.plan),
        )
        journal.stopping = self._stopping
        execution = Execution(
            run.run_id,
            run.workflow,
            given.emitter,
            given.deps,
            given.hub,
            given.secrets,
            trace=run.trace or "",
            clock=given.clock,
            keep=run.keep,
            children=self._children,
            journal=journal,
            ledger=Ledger(journal),
            limits=given.store.limits,
            intermediates=record.intermediates,
            reopened=set() if record.reopened else None,
            check_states=given.check_states,
            labels=run.labels,
        )
        is_new = lease.epoch == 1
        execution.signal_box = partial(SignalBox, run.run_id, workflow.signals, given.store, is_new=is_new)
        execution.restore(snapshot)
        if given.tracer is not None:
            execution.tracing = given.tracer.run(of_stored(execution, workflow.traced_agent, snapshot))
        return execution

    def _misfit(self, plan: Plan, wait: StoredWait) -> str | None:
        """Why a step cannot read what has ended a wait; None if it can."""
        why = misfit(plan, wait)
        return None if why is None else self._environment.secrets.mask(why)

    async def _tell(self, record: Record, execution: Execution, run: RunInfo, error: BaseException) -> None:
        """Say what has become of a run. What is no failure of its own leaves it open, and no other."""
        run_id = run.run_id
        match error:
            case RunCancelled():
                self._presence.end(record, RunStatus.CANCELLED, error=error)
            case Parked():
                self._fitness.note_parked(run, execution.journal.epoch, _definition(record).workflow)
                await self._park(record, execution)
            case RunNotOpen() if record.is_over:
                pass
            case CheckpointError() | LifespanFailed() | RunnerNotOpen():
                await self._claims.leave(run_id, error)
            case WorkflowError():
                failure = RunFailed(run_id, describe(error), execution.traceback)
                failure.__cause__ = error
                self._presence.end(record, RunStatus.FAILED, error=failure)
            case Left(error=RunnerStopped()) | Stopping():
                self._presence.lose(record, RunnerStopped(run_id))
            case Left():
                await self._claims.leave(run_id, error.error)
            case _ if ends_all(error):  # cancelled after the grace
                self._presence.lose(record, RunnerStopped(run_id))
            case _:
                await self._claims.leave(run_id, own(run_id, error))

    async def _park(self, record: Record, execution: Execution) -> None:
        """It rests; and whoever waits for it is told if a run that it waits for cannot go on."""
        waits = execution.ledger.open_waits
        children = children_of(waits)
        self._presence.park(record, [wait_id_of(record.run_id, wait) for wait in waits], children)
        with suppress(CheckpointError):  # it rests all the same
            for child in children:
                if (reason := await self._reason(child)) is not None:
                    self._presence.lose(record, reason)

    async def _reason(self, run_id: str) -> Exception | None:
        """Why a run cannot go on, if its row says that it cannot."""
        info = await self._environment.store.info(run_id)
        if info.blocked is None or not info.status.is_open:
            return None
        return self._fitness.reason(await self._environment.store.load(run_id)) or self._claims.reason(info)

    async def _give_up(self, record: Record, error: BaseException) -> None:
        """A run whose turn it was is not executed."""
        run_id = record.run_id
        record.refused = error if isinstance(error, Exception) else RunnerStopped(run_id)
        match error:
            case RunCancelled():
                self._presence.end(record, RunStatus.CANCELLED, error=error)
            case RunNotOpen():
                await self._end_as_stored(record)
            case RunOwned():
                self._presence.lose(record, RunNotHeld(run_id))
            case RunNotFound():  # it has ended, and nothing is kept of it
                self._presence.lose(record, error)
            case Exception():
                await self._claims.leave(run_id, own(run_id, error))
            case _:
                self._presence.lose(record, RunnerStopped(run_id))

    async def _end_as_stored(self, record: Record) -> None:
        try:
            snapshot = await self._environment.store.load(record.run_id)
            end_as_stored(record, snapshot, self._fitness.registry, self._presence)
        except Exception as error:  # noqa: BLE001  # it has ended, and nobody can say how
            self._presence.lose(record, own(record.run_id, error))


def _definition(record: Record) -> Definition:
    """What a run is executed by, which is known since it was claimed or started."""
    assert record.definition is not None  # noqa: S101  # see above
    return record.definition


def _unread(record: Record, failure: BaseException) -> IncompatibleCheckpoint:
    why = f"its final state cannot be made: {describe(failure)}"
    error = IncompatibleCheckpoint(record.run_id, record.workflow, why)
    error.__cause__ = failure
    return error
