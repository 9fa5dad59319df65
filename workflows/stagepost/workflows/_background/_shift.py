"""The runs that are worked on at this moment, each by one task."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import CheckpointError, Lease, Snapshot

from .._containment import ends_all, own_failure
from .._engine._branch import Branch
from .._engine._engine import observed
from .._execution._children import Children
from .._execution._execution import Execution
from .._execution._signal_box import SignalBox
from .._execution._signals import Left, Parked, Stopping
from .._lifespans import Lifespans
from .._pattern_errors import describe
from .._runs._blocked import own
from .._runs._ids import wait_id_of
from ..errors import (
    IncompatibleCheckpoint,
    LifespanFailed,
    RunCancelled,
    RunFailed,
    RunnerNotOpen,
    RunnerStopped,
    WorkflowError,
)
from ._line import Job
from ._lookout import Lookout
from ._means import Means
from ._patience import until_saved


@dataclass(eq=False, slots=True)
class Active:
    """A run that is worked on.

    Attributes:
        job: The run.
        lease: The right to commit to it.
        execution: It in this process.
        has_slot: Whether it takes up a slot.
        woken: Whether somebody has said that one of its waits has ended.
        cancelled: Whether somebody has cancelled it.
    """

    job: Job
    lease: Lease
    execution: Execution
    has_slot: bool
    woken: bool = False
    cancelled: bool = False

    def cancel(self) -> None:
        """Cancel whatever it does."""
        self.cancelled = True
        self.execution.scope.cancel()

    def begin_again(self, execution: Execution) -> None:
        """Go on with what was stored since."""
        known = self.execution
        execution.resources, execution.memo, execution.signals = known.resources, known.memo, known.signals
        self.execution, self.woken = execution, False
        if self.cancelled:
            execution.scope.cancel()


class Shift:
    """Takes runs to their ends, or until they park, and tells their handles.

    Args:
        means: What they are executed with.
        lookout: Is told of waits, and of runs that have ended.
        lifespans: What is open around runs.
        children: Starts the runs that their steps want.
        on_leave: Called when a run is no longer worked on.
    """

    def __init__(
        self,
        means: Means,
        lookout: Lookout,
        lifespans: Lifespans,
        children: Children,
        on_leave: Callable[[Active], None],
    ) -> None:
        self._means = means
        self._lookout = lookout
        self._lifespans = lifespans
        self._children = children
        self._on_leave = on_leave
        self._active: dict[str, Active] = {}
        self._stopping = False

    @property
    def runs(self) -> dict[str, Active]:
        """Those that are worked on, by id."""
        return self._active

    def stop(self) -> None:
        """Start no further step of any run."""
        self._stopping = True
        for active in self._active.values():
            active.execution.stopping = True

    def enter(self, job: Job, snapshot: Snapshot, lease: Lease, *, has_slot: bool) -> Active:
        """Take on a run; `work` then has to follow."""
        job.outcome.go_on()
        execution = self._execution(job, snapshot, lease)
        active = self._active[job.run_id] = Active(job, lease, execution, has_slot)
        return active

    async def work(
        self,
        snapshot: Snapshot,
        active: Active,
        recovered: bool,  # noqa: FBT001  # passed by start_soon, which knows no keywords
    ) -> None:
        """Work on a run as long as something of it can go on."""
        run_id, outcome = active.job.run_id, active.job.outcome
        try:
            active.execution.resources = await self._resources(active.job)
            while not await self._advance(snapshot, active, recovered=recovered):
                snapshot, recovered = await self._means.store.load(run_id), True
                active.begin_again(self._execution(active.job, snapshot, active.lease))
        except BaseException as error:
            _tell(active, error)
            if ends_all(error):
                raise
        finally:
            del self._active[run_id]
            self._on_leave(active)
        if self._lookout.is_awaited(run_id) and not outcome.status.is_open:
            with suppress(CheckpointError):  # the run's end is saved; recover() finds those who wait for it
                await until_saved(partial(self._lookout.ended, run_id))

    async def _resources(self, job: Job) -> object:
        workflow = job.definition.workflow
        return await self._lifespans.enter(workflow.name, workflow.lifespan)

    async def _advance(self, snapshot: Snapshot, active: Active, *, recovered: bool) -> bool:
        """Take a run to its end; False if one of its waits ended when it was about to park.

        Raises:
            Parked: It rests.
        """
        branch = Branch(active.execution, active.job.definition.workflow.plan, snapshot.root)
        try:
            await observed(active.execution, branch, recovered=recovered)
        except Parked:
            if active.execution.parked:
                raise
            return False
        try:
            state = branch.view()
        except BaseException as error:  # noqa: BLE001  # the run has completed, and nobody can read what came of it
            active.job.outcome.complete_unread(_unread(active, own_failure(error)))
        else:
            active.job.outcome.complete(state)
        return True

    def _execution(self, job: Job, snapshot: Snapshot, lease: Lease) -> Execution:
        execution = self._means.execution(snapshot, lease, self._lookout)
        execution.stopping = self._stopping
        execution.intermediates = job.outcome.intermediates
        execution.children = self._children
        signals = job.definition.workflow.signals
        execution.signals = SignalBox(job.run_id, signals, self._means.store, is_new=lease.epoch == 1)
        execution.reopened = set() if job.reopened else None
        return execution


def _tell(active: Active, error: BaseException) -> None:
    """Tell who waits for a run what has become of it. What is no failure of its own leaves it open, and no other."""
    run_id, outcome = active.job.run_id, active.job.outcome
    match error:
        case RunCancelled():
            outcome.cancel(error)
        case CheckpointError() | LifespanFailed() | RunnerNotOpen():
            outcome.leave(error)
        case WorkflowError():
            failure = RunFailed(run_id, describe(error), active.execution.traceback)
            failure.__cause__ = error
            outcome.fail(failure)
        case Left(error=RunnerStopped()) | Stopping():
            outcome.leave(RunnerStopped(run_id))
        case Left():
            outcome.leave(error.error)
        case Parked():
            outcome.park([wait_id_of(run_id, wait) for wait in active.execution.ledger.open_waits])
        case _ if ends_all(error):  # cancelled after the grace
            outcome.leave(RunnerStopped(run_id))
        case _:
            outcome.leave(own(run_id, error))


def _unread(active: Active, failure: BaseException) -> IncompatibleCheckpoint:
    why = f"its final state cannot be made: {describe(failure)}"
    error = IncompatibleCheckpoint(active.job.run_id, active.job.run.workflow, why)
    error.__cause__ = failure
    return error
