"""What concerns one background run."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from ._root_error import WorkflowError

_NAMED: Final = 5  # effects that an error names


class RunError(WorkflowError):
    """Root of what concerns one background run.

    Attributes:
        run_id: The run.
    """

    def __init__(self, message: str, run_id: str) -> None:
        super().__init__(message)
        self.run_id = run_id


class RunFailed(RunError):
    """The run ended with a failure that is committed; `Runner.resume` goes on behind what was done.

    The cause is the error itself, where it happened in this process.

    Attributes:
        error: What it says.
        traceback: Its traceback as text, as it is stored; also where it happened in another process.
    """

    def __init__(self, run_id: str, error: str, traceback: str | None = None) -> None:
        super().__init__(f"run {run_id!r} failed: {error}", run_id)
        self.error = error
        self.traceback = traceback


class RunCancelled(RunError):
    """Somebody has cancelled the run; what was done stays stored, and it does not go on."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id!r} was cancelled", run_id)


class RunParked(RunError):
    """The run waits for somebody; it goes on when a wait has ended.

    Attributes:
        run_id: The run.
        waits: Ids of its open waits, for `Runner.answer`.
    """

    def __init__(self, run_id: str, waits: Sequence[str]) -> None:
        super().__init__(f"run {run_id!r} is parked: it waits at {', '.join(waits) or 'nothing that is known'}", run_id)
        self.waits = tuple(waits)


class CursorRefused(RunError, ValueError):
    """A stream cannot go on after a cursor.

    Attributes:
        cursor: The cursor.
        why: Why not.
    """

    def __init__(self, run_id: str, cursor: str, why: str) -> None:
        super().__init__(
            f"the stream of run {run_id!r} cannot go on after {cursor!r:.80}: {why}; give the cursor of one of its "
            "parts, or None to begin with the state as it is",
            run_id,
        )
        self.cursor = cursor
        self.why = why


class RunDead(RunError):
    """Its process died with it so often, without one commit in between, that it is not taken up any more."""

    def __init__(self, run_id: str, attempts: int) -> None:
        super().__init__(
            f"run {run_id!r} is dead: it was recovered {attempts} times in a row and got nowhere; "
            "find out what ends the process, then resume() it",
            run_id,
        )
        self.attempts = attempts


class ChildElsewhere(RunError):
    """The run that a step waits for is kept in another store, so this runner would not hear of its end."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"run {run_id!r}, which a step asked for, is parked in another runner's store: "
            "serve the agent that was asked on the runner that asks, or handle RunParked in a step of your own",
            run_id,
        )


class ChildFailed(RunError):
    """A run that a step has started has failed, was cancelled, or is dead.

    The cause is the error itself, where it happened in this process. Resuming the run of that step opens a failed child
    again, if the step asks for it again.

    Attributes:
        workflow: Name of the child's workflow.
        why: What became of it.
        state: Its state then; None if it is not known.
    """

    def __init__(self, run_id: str, workflow: str, why: str, *, state: Any = None) -> None:
        super().__init__(f"run {run_id!r} of {workflow!r}, which a step has started, did not complete: {why}", run_id)
        self.workflow = workflow
        self.why = why
        self.state = state


class UnknownSignal(RunError, LookupError):
    """The run's workflow receives no signal of this name."""

    def __init__(self, run_id: str, name: str, known: Sequence[str]) -> None:
        there_are = ", ".join(sorted(known)) or "none"
        super().__init__(f"run {run_id!r} receives no signal {name!r}; its workflow receives: {there_are}", run_id)
        self.name = name
        self.known = tuple(known)


class RunConflict(RunError):
    """The id or key stands for a run of another workflow or with another input."""

    def __init__(self, run_id: str, differs: str) -> None:
        super().__init__(
            f"run {run_id!r} exists with another {differs}: "
            "give the same one to attach to it, or another run_id or key to start anew",
            run_id,
        )
        self.differs = differs


class RunForgotten(RunError):
    """The id or key is that of a run that has ended and was deleted by retention: it is not started again.

    Attributes:
        status: How it ended.
        ended_at: When (UTC).
        is_same: Whether it was started with the same workflow and input.
    """

    def __init__(self, run_id: str, status: str, ended_at: datetime, *, is_same: bool = True) -> None:
        other = "" if is_same else ", and it was started with another workflow or input"
        super().__init__(
            f"run {run_id!r} had this id or key and is over: it ended {ended_at:%Y-%m-%d %H:%M} UTC ({status}){other}. "
            "Its result is no longer kept (keep_for=, keep=). Give another id or key to start anew, or free this one "
            "by store.delete()",
            run_id,
        )
        self.status = status
        self.ended_at = ended_at
        self.is_same = is_same


class RunnerStopped(RunError):
    """The runner was left before the run ended; the run stays open in the store."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"the runner was left before run {run_id!r} ended: recover() goes on with it", run_id)


class RunNotHeld(RunError):
    """The run is open, but no runner of this process works on it."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id!r} is open, but this runner does not hold it: call recover() first", run_id)


class RunLeftOpen(RunError):
    """Something that is not the run's own failure came in between; the run stays open in the store.

    The cause is the error itself.

    Attributes:
        why: What came in between.
    """

    def __init__(self, run_id: str, why: str) -> None:
        super().__init__(
            f"run {run_id!r} is left open, with all that was saved: {why}; recover() goes on with it",
            run_id,
        )
        self.why = why


class IncompatibleCheckpoint(RunError):
    """The run cannot go on in the workflow as it is now defined.

    Attributes:
        workflow: Name of its workflow.
        why: What does not fit.
        place: The place that is gone, if that is what does not fit.
    """

    def __init__(self, run_id: str, workflow: str, why: str, *, place: str | None = None) -> None:
        super().__init__(
            f"run {run_id!r} cannot go on in workflow {workflow!r}: {why}; register the old definition beside the new "
            "one under its version, or give the new one another version and the runner a migration (migrations=)",
            run_id,
        )
        self.workflow = workflow
        self.why = why
        self.place = place


class UnknownWorkflow(RunError, LookupError):
    """No workflow of this name and version is registered with the runner.

    Attributes:
        workflow: The name.
        version: The version.
        known: The versions of the workflow that are registered, the oldest first.
    """

    def __init__(
        self, run_id: str, workflow: str, version: int, *, known: Sequence[int] = (), migrated: int | None = None
    ) -> None:
        super().__init__(
            f"run {run_id!r} belongs to workflow {workflow!r} version {version}, which this runner does not know: "
            f"{_advice(version, known, version if migrated is None else migrated)}",
            run_id,
        )
        self.workflow = workflow
        self.version = version
        self.known = tuple(known)


def _advice(version: int, known: Sequence[int], migrated: int) -> str:
    """What whoever registers workflows has to do, so that a run of some version goes on.

    Args:
        version: The run's.
        known: The versions that are registered.
        migrated: The version that migrations lead to.
    """
    if not known:
        return "add it to workflows=, or its newer version and migrations="
    there = f"it knows version{'s' if len(known) > 1 else ''} {', '.join(map(str, known))}"
    if version > known[-1]:
        return f"{there}; add version {version} to workflows=, since no migration leads back to an older one"
    lead = f", and its migrations lead to {migrated} only" if migrated > version else ""
    return f"{there}{lead}; add version {version} to workflows=, or migrations= from {migrated} on"


class ForkRefused(RunError, ValueError):
    """A run cannot be forked as it was asked for; nothing was stored.

    Attributes:
        why: Why not, and what to do.
    """

    def __init__(self, run_id: str, why: str) -> None:
        super().__init__(f"run {run_id!r} cannot be forked so: {why}", run_id)
        self.why = why


class EffectsAgain(RunError):
    """A fork would repeat effects on the world outside that the run has had already; nothing was stored.

    Attributes:
        effects: They, each as the place of its step (or the id of a run below and the place there), and its key.
    """

    def __init__(self, run_id: str, effects: Sequence[tuple[str, str]], *, below: bool = False) -> None:
        named = ", ".join(f"{key!r} at {place!r}" for place, key in effects[:_NAMED])
        more = f" and {len(effects) - _NAMED} more" if len(effects) > _NAMED else ""
        keep = "; of runs that its steps start nothing can be kept" if below else ", or effects='keep' to keep them"
        super().__init__(
            f"a fork of run {run_id!r} would repeat what was done to the world outside after that point: {named}{more}"
            f"; give effects='again' if that is to happen again{keep}, or fork after these steps",
            run_id,
        )
        self.effects = tuple(effects)
