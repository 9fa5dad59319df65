"""What can go wrong in a workflow.

::

    WorkflowError
    ├── DefinitionError(ValueError)      a pattern is built wrong; raised where it is built
    │   └── HubRequired                  a step asks an agent, and there is no hub
    ├── ExtraMissing(ImportError)        an option needs a package that is not installed
    ├── RunnerNotOpen                    a runner was used outside its ``async with``
    ├── MergeConflict                    two branches of a parallel have written one key
    ├── MissingKey(KeyError)             a step reads a key that the state does not have
    ├── MissingSecret(KeyError)          a step reads a secret that the process was not given
    ├── MaskedError                      stands for an error whose text showed a secret
    ├── RunnerRequired                   a step waits for somebody, and the run is in memory
    ├── WaitExpired(TimeoutError)        nobody answered within the time that a wait was given
    ├── EffectError                      an effect on the world outside
    │   ├── EffectNotDone                raised by the effect itself: it has not happened
    │   ├── EffectUnderWay               `once` was called with a key whose effect is under way
    │   └── OutcomeUnknown               nobody knows whether it has happened; the run parks
    ├── StepResultError(TypeError)       a step returned something that is no update of the state
    ├── StepTimeout(TimeoutError)        a step took longer than it may
    ├── StepCancelled                    a step awaited something that was cancelled by others than the engine
    ├── PatternError                     a step failed; each enclosing pattern adds where
    │   ├── ChainError                   .step, .index
    │   ├── FoldError                    .index, .item
    │   ├── ParallelError                .failures, .accounts
    │   ├── BranchError                  .branch
    │   ├── ConditionalError             .route
    │   └── GraphError                   .node, .path
    └── RunError                         a background run
        ├── RunFailed                    it ended with a committed failure
        ├── RunCancelled                 somebody has cancelled it
        ├── RunParked                    it waits for somebody: an answer, a signal, the time
        ├── RunDead                      its process died with it too often
        ├── ChildElsewhere               the run that a step waits for is kept in another store
        ├── UnknownSignal(LookupError)   its workflow receives no signal of this name
        ├── RunConflict                  its id or key stands for another workflow or input
        ├── RunnerStopped                the runner was left before it ended; it stays open in the store
        ├── RunNotHeld                   it is open, but no runner of this process works on it
        ├── IncompatibleCheckpoint       it cannot go on in the workflow as it is now defined
        └── UnknownWorkflow(LookupError) no workflow of this name and version is registered
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stagepost.hub import FactError

__all__ = [
    "BranchError",
    "ChainError",
    "ChildElsewhere",
    "ConditionalError",
    "DefinitionError",
    "EffectError",
    "EffectNotDone",
    "EffectUnderWay",
    "ExtraMissing",
    "FoldError",
    "GraphError",
    "HubRequired",
    "IncompatibleCheckpoint",
    "ItemAccounts",
    "ItemFailure",
    "MaskedError",
    "MergeConflict",
    "MissingKey",
    "MissingSecret",
    "OutcomeUnknown",
    "ParallelError",
    "PatternError",
    "RunCancelled",
    "RunConflict",
    "RunDead",
    "RunError",
    "RunFailed",
    "RunNotHeld",
    "RunParked",
    "RunnerNotOpen",
    "RunnerRequired",
    "RunnerStopped",
    "StepCancelled",
    "StepResultError",
    "StepTimeout",
    "UnknownSignal",
    "UnknownWorkflow",
    "WaitExpired",
    "WorkflowError",
]


class WorkflowError(FactError):
    """Root of all errors of this layer."""


class DefinitionError(WorkflowError, ValueError):
    """A pattern is built wrong."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.where = where
        self.why = why


class HubRequired(DefinitionError):
    """A step asks an agent, but nothing says on which hub."""

    def __init__(self, workflow: str, agent: str) -> None:
        super().__init__(
            f"workflow {workflow!r}",
            f"a step asks agent {agent!r}, so it needs a hub: run(…, hub=hub) or Runner(store, hub=hub)",
        )
        self.agent = agent


class ExtraMissing(WorkflowError, ImportError):
    """An option needs a package that is not installed.

    Attributes:
        what: The option.
        package: What it needs.
        extra: Which extra of stagepost brings it.
    """

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}, which is not installed: pip install 'stagepost[{extra}]'")
        self.what = what
        self.package = package
        self.extra = extra


class RunnerNotOpen(WorkflowError):
    """A runner was used before it was entered or after it was left."""

    def __init__(self) -> None:
        super().__init__("the runner is not open: use it inside `async with Runner(…)`")


class MergeConflict(WorkflowError):
    """Two branches of a parallel have written one key; the cause of the `ParallelError` that says which parallel.

    Attributes:
        key: The key.
        branches: Names of the two.
    """

    def __init__(self, key: str, first: str, second: str) -> None:
        super().__init__(
            f"branches {first!r} and {second!r} have both written the key {key!r}: let one use another key"
        )
        self.key = key
        self.branches = (first, second)


class MissingKey(WorkflowError, KeyError):
    """A step reads a key that the state does not have."""

    def __init__(self, key: object, known: Sequence[str]) -> None:
        super().__init__(f"the state has no key {key!r}; it has {', '.join(known) or 'none yet'}")
        self.key = key

    def __str__(self) -> str:  # KeyError would show the representation of its argument
        return str(self.args[0])


class MissingSecret(WorkflowError, KeyError):
    """A step reads a secret that this process was not given."""

    def __init__(self, name: object, known: Sequence[str]) -> None:
        super().__init__(
            f"there is no secret {name!r}, but {', '.join(known) or 'none at all'}: "
            "give it to Runner(secrets=…) or run(secrets=…)"
        )
        self.name = name

    def __str__(self) -> str:  # as above
        return str(self.args[0])


class MaskedError(WorkflowError):
    """Stands for an error that would have shown a secret: its message with stars, without what led to it.

    Attributes:
        kind: Name of its class.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class RunnerRequired(WorkflowError):
    """A step waits for somebody, which a run in memory cannot."""

    def __init__(self, workflow: str, step: str) -> None:
        super().__init__(
            f"step {step!r} of {workflow!r} waits for somebody outside, and a run in memory cannot: "
            "start it on a Runner; Runner(MemoryStore(), …) will do",
        )
        self.workflow = workflow
        self.step = step


class WaitExpired(WorkflowError, TimeoutError):
    """Nobody answered within the time that a wait was given, and it has no ``otherwise=``.

    Attributes:
        step: Name of the step that waited.
        due_at: When its time was up (UTC).
    """

    def __init__(self, step: str, due_at: datetime | None) -> None:
        when = "" if due_at is None else f" by {due_at:%Y-%m-%d %H:%M:%S} UTC"
        super().__init__(f"nobody answered {step!r}{when}: give it otherwise=, or resume the run to wait anew")
        self.step = step
        self.due_at = due_at


class EffectError(WorkflowError):
    """Root of what concerns effects on the world outside."""


class EffectNotDone(EffectError):
    """To be raised by an effect, or by its ``on_unknown=``: it has certainly not happened."""


class EffectUnderWay(EffectError):
    """`once` was called with a key whose effect is under way in the same step."""

    def __init__(self, key: str, path: str) -> None:
        super().__init__(f"effect {key!r} of step {path!r} is under way: give each effect of a step a key of its own")
        self.key = key
        self.path = path


class OutcomeUnknown(EffectError):
    """Nobody knows whether an effect has happened; its run parks until somebody says.

    Attributes:
        key: The effect's name within its step.
        path: Where the step stands.
    """

    def __init__(self, key: str, path: str) -> None:
        super().__init__(
            f"nobody knows whether effect {key!r} of step {path!r} has happened: find out, "
            "then call runner.settle(run_id, key, value=…) if it has, or retry=True if it has not",
        )
        self.key = key
        self.path = path


class StepResultError(WorkflowError, TypeError):
    """A step returned something that is no update of the state."""

    def __init__(self, step: str, result: object) -> None:
        super().__init__(
            f"step {step!r} returned {type(result).__name__}: return None (no change), "
            "a mapping of the keys to update, or a whole state",
        )
        self.step = step
        self.result = result


class StepCancelled(WorkflowError):
    """A step was ended by a cancellation that nobody asked the engine for: what it awaited was cancelled."""

    def __init__(self, step: str) -> None:
        super().__init__(
            f"step {step!r} awaited something that was cancelled elsewhere: catch the cancellation where it is awaited",
        )
        self.step = step


class StepTimeout(WorkflowError, TimeoutError):
    """A step took longer than its ``timeout=``, and was cancelled.

    Attributes:
        step: Name of the step.
        limit: Seconds.
    """

    def __init__(self, step: str, limit: float) -> None:
        super().__init__(f"step {step!r} took longer than its {limit:g} s and was cancelled")
        self.step = step
        self.limit = limit


class PatternError(WorkflowError):
    """A step inside a pattern failed; the cause is the step's own error or that of a pattern inside.

    Attributes:
        name: The pattern's name.
        state: The state that the failing step saw. Never part of the message.
    """

    def __init__(self, message: str, *, name: str, state: Any) -> None:
        super().__init__(message)
        self.name = name
        self.state = state


def describe(error: BaseException) -> str:
    """About a cause, as text that can be stored: a pattern's own sentence, or the type and text of any other error."""
    text = _text(error)
    if isinstance(error, PatternError | MaskedError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _text(error: BaseException) -> str:
    """What an error says; it may quote bytes that are no Unicode, as names of files do, or fail to say anything."""
    try:
        return str(error).encode(errors="backslashreplace").decode()
    except Exception:  # noqa: BLE001  # somebody else's `__str__`, about an error that is being reported already
        return "(its text could not be had)"


class ChainError(PatternError):
    """A step of a chain failed; `state` is what the steps before it have made.

    Attributes:
        step: Name of the step.
        index: Its position, from 0: as many steps have ended well.
    """

    def __init__(self, name: str, step: str, cause: BaseException, *, index: int, state: Any) -> None:
        super().__init__(f"chain {name!r} failed at step {step!r}: {describe(cause)}", name=name, state=state)
        self.step = step
        self.index = index


class FoldError(PatternError):
    """The worker of a fold failed, or its items could not be had; `state` is what the items before have made.

    Attributes:
        index: Position of the item, from 0; None if there were none yet. As many items have ended well.
        item: The item. Never part of the message.
    """

    def __init__(self, name: str, index: int | None, cause: BaseException, *, item: Any = None, state: Any) -> None:
        where = "its items could not be had" if index is None else f"at item {index}"
        super().__init__(
            f"fold {name!r} failed{':' if index is None else ''} {where}: {describe(cause)}", name=name, state=state
        )
        self.index = index
        self.item = item


class BranchError(PatternError):
    """A branch of a parallel failed.

    Attributes:
        branch: Name of the branch.
    """

    def __init__(self, name: str, cause: BaseException, *, state: Any) -> None:
        super().__init__(f"branch {name!r} failed: {describe(cause)}", name=name, state=state)
        self.branch = name


class ConditionalError(PatternError):
    """The route of a conditional could not be taken, or the step behind it failed.

    Attributes:
        route: The route that was taken; None if none was.
    """

    def __init__(self, name: str, route: str | None, cause: BaseException, *, state: Any) -> None:
        where = "at its route" if route is None else f"on route {route!r}"
        super().__init__(f"conditional {name!r} failed {where}: {describe(cause)}", name=name, state=state)
        self.route = route


class GraphError(PatternError):
    """A node of a graph failed, or the graph could not go on behind it.

    Attributes:
        node: Name of the node.
        path: Nodes visited by this process, in order, `node` last.
    """

    def __init__(self, name: str, node: str, why: str, *, path: Sequence[str], state: Any) -> None:
        super().__init__(f"graph {name!r} failed at node {node!r}: {why}", name=name, state=state)
        self.node = node
        self.path = tuple(path)


@dataclass(frozen=True, slots=True)
class ItemFailure:
    """One item that failed.

    Attributes:
        index: Its position, from 0.
        error: What its worker raised; a text if it failed before a restart.
    """

    index: int
    error: BaseException | str

    def __str__(self) -> str:
        return self.error if isinstance(self.error, str) else describe(self.error)


@dataclass(frozen=True, slots=True)
class ItemAccounts:
    """Where every item of a fan-out stands: their indexes, each in exactly one place."""

    ok: Sequence[int] = ()
    failed: Sequence[int] = ()
    cancelled: Sequence[int] = ()
    not_started: Sequence[int] = ()


class ParallelError(PatternError):
    """An item of a fan-out failed, or its items could not be had.

    Attributes:
        failures: The items that failed.
        accounts: Where every item stands.
    """

    def __init__(
        self,
        name: str,
        why: str,
        *,
        failures: Sequence[ItemFailure] = (),
        accounts: ItemAccounts | None = None,
        state: Any,
    ) -> None:
        super().__init__(f"parallel {name!r} failed: {why}", name=name, state=state)
        self.failures = tuple(failures)
        self.accounts = accounts or ItemAccounts()

    @property
    def reasons(self) -> Mapping[str, tuple[int, ...]]:
        """Indexes of the failed items by what their errors say, the most frequent first."""
        return reasons(self.failures)


def reasons(failures: Iterable[ItemFailure]) -> dict[str, tuple[int, ...]]:
    """Indexes of failures by their texts, the most frequent first."""
    found: dict[str, tuple[int, ...]] = {}
    for failure in failures:
        found[str(failure)] = (*found.get(str(failure), ()), failure.index)
    return dict(sorted(found.items(), key=lambda reason: -len(reason[1])))


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
    """

    def __init__(self, run_id: str, error: str) -> None:
        super().__init__(f"run {run_id!r} failed: {error}", run_id)
        self.error = error


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


class RunnerStopped(RunError):
    """The runner was left before the run ended; the run stays open in the store."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"the runner was left before run {run_id!r} ended: recover() goes on with it", run_id)


class RunNotHeld(RunError):
    """The run is open, but no runner of this process works on it."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id!r} is open, but this runner does not hold it: call recover() first", run_id)


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
    """No workflow of this name and version is registered with the runner."""

    def __init__(self, run_id: str, workflow: str, version: int) -> None:
        super().__init__(
            f"run {run_id!r} belongs to workflow {workflow!r} version {version}, which this runner does not know: "
            "add it to workflows=, or its newer version and migrations=",
            run_id,
        )
        self.workflow = workflow
        self.version = version
