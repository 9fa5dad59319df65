"""Handles of runs as they stand in the store."""

from stagepost.checkpoint import RunInfo, RunStatus, Snapshot

from ..errors import RunCancelled, RunDead, RunFailed, RunNotHeld
from ._outcomes import Outcomes
from ._recovery import open_waits
from ._registry import Registry
from ._run import Outcome, Run


def handle_of(snapshot: Snapshot, registry: Registry, outcomes: Outcomes, reason: BaseException | None = None) -> Run:
    """A handle of a run that nobody here works on.

    Args:
        snapshot: The run as it is stored.
        registry: Finds its definition.
        outcomes: What handles wait for: one of a parked run hears of whatever becomes of it.
        reason: Why it cannot go on, if it is open and cannot.

    Raises:
        UnknownWorkflow: It has completed, and nobody knows its workflow.
        IncompatibleCheckpoint: It has completed, and its state cannot be read any more.
    """
    run = snapshot.run
    outcome = outcomes.of(run.run_id)
    if reason is not None:
        outcome.leave(reason)
        return Run(run.run_id, run.workflow, outcome)
    match run.status:
        case RunStatus.COMPLETED:
            outcome.complete(registry.find(run).view(snapshot))
        case RunStatus.FAILED:
            outcome.fail(outcomes.failure(run.run_id) or _failed(run))
        case RunStatus.CANCELLED:
            outcome.cancel(RunCancelled(run.run_id))
        case RunStatus.DEAD:
            outcome.bury(RunDead(run.run_id, run.attempts))
        case RunStatus.WAITING:
            outcome = outcomes.park(run.run_id, open_waits(snapshot))
        case RunStatus.RUNNING:
            outcome = Outcome()  # nobody here will ever say more of it
            outcome.leave(RunNotHeld(run.run_id))
    return Run(run.run_id, run.workflow, outcome)


def _failed(run: RunInfo) -> RunFailed:
    """A failure of another process, which shows the traceback that is stored of it."""
    failure = RunFailed(run.run_id, run.error or "unknown error", run.traceback)
    if run.traceback is not None:
        failure.add_note(f"It failed in another process, or some time ago, where the traceback was:\n{run.traceback}")
    return failure
