"""What can go wrong in a workflow.

::

    WorkflowError
    ├── DefinitionError(ValueError)      a pattern is built wrong; raised where it is built
    │   └── HubRequired                  a step asks an agent, and there is no hub
    ├── ExtraMissing(ImportError)        an option needs a package that is not installed
    ├── WorkflowNotFound(LookupError)    a runner knows no workflow of this name
    ├── LifespanFailed                   what the steps of a workflow need could not be opened
    ├── RunnerNotOpen                    a runner was used outside its ``async with``
    ├── CannotGoOn                       what chooses the way on in a pattern knows none
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
    │   ├── NotAwaited                   a coroutine stands where a value should be
    │   ├── StateChanged                 a step changed its state in place, which is lost
    │   └── UnknownField(CannotStore)    a step returned a field that the model of its state does not have
    ├── UncleanStep                      a step left a cancel scope open, or cancelled the task that it runs in
    ├── StepTimeout(TimeoutError)        a step took longer than it may
    ├── StepCancelled                    a step awaited something that was cancelled by others than the engine
    ├── PatternError                     a step failed; each enclosing pattern adds where
    │   ├── ChainError                   .step, .index
    │   ├── FoldError                    .index, .item
    │   ├── ParallelError                .failures, .accounts
    │   ├── BranchError                  .branch
    │   ├── ConditionalError             .route
    │   └── GraphError                   .node, .path
    ├── ScheduleRefused(ValueError)      a schedule cannot be as it was asked for
    ├── ScheduleNotReadable              what is stored of a schedule makes no sense to this version
    ├── ScheduleConflict                 a schedule of this key starts runs of another workflow
    └── RunError                         a background run
        ├── RunFailed                    it ended with a committed failure
        ├── CursorRefused                a stream cannot go on after a cursor
        ├── RunCancelled                 somebody has cancelled it
        ├── RunParked                    it waits for somebody: an answer, a signal, the time
        ├── RunDead                      its process died with it too often
        ├── ChildFailed                  a run that a step has started did not complete
        ├── ChildElsewhere               the run that a step waits for is kept in another store
        ├── UnknownSignal(LookupError)   its workflow receives no signal of this name
        ├── ForkRefused(ValueError)      it cannot be forked as it was asked for
        ├── EffectsAgain                 a fork would repeat what it has done to the world outside
        ├── RunConflict                  its id or key stands for another workflow or input
        ├── RunForgotten                 its id or key is that of a run that retention has deleted
        ├── RunnerStopped                the runner was left before it ended; it stays open in the store
        ├── RunNotHeld                   it is open, but no runner of this process works on it
        ├── RunLeftOpen                  something that is no failure of its own came in between; it stays open
        ├── IncompatibleCheckpoint       it cannot go on in the workflow as it is now defined
        └── UnknownWorkflow(LookupError) no workflow of this name and version is registered
"""

from collections.abc import Sequence
from datetime import datetime

from stagepost._installing import how_to_install

from ._pattern_errors import (
    BranchError,
    CannotGoOn,
    ChainError,
    ConditionalError,
    FoldError,
    GraphError,
    ItemAccounts,
    ItemFailure,
    MaskedError,
    ParallelError,
    PatternError,
)
from ._root_error import WorkflowError
from ._run_errors import (
    ChildElsewhere,
    ChildFailed,
    CursorRefused,
    EffectsAgain,
    ForkRefused,
    IncompatibleCheckpoint,
    RunCancelled,
    RunConflict,
    RunDead,
    RunError,
    RunFailed,
    RunForgotten,
    RunLeftOpen,
    RunnerStopped,
    RunNotHeld,
    RunParked,
    UnknownSignal,
    UnknownWorkflow,
)
from ._schedule_errors import ScheduleConflict, ScheduleNotReadable, ScheduleRefused
from ._step_errors import (
    NotAwaited,
    StateChanged,
    StepCancelled,
    StepResultError,
    StepTimeout,
    UncleanStep,
    UnknownField,
)

__all__ = [
    "BranchError",
    "CannotGoOn",
    "ChainError",
    "ChildElsewhere",
    "ChildFailed",
    "ConditionalError",
    "CursorRefused",
    "DefinitionError",
    "EffectError",
    "EffectNotDone",
    "EffectUnderWay",
    "EffectsAgain",
    "ExtraMissing",
    "FoldError",
    "ForkRefused",
    "GraphError",
    "HubRequired",
    "IncompatibleCheckpoint",
    "ItemAccounts",
    "ItemFailure",
    "LifespanFailed",
    "MaskedError",
    "MergeConflict",
    "MissingKey",
    "MissingSecret",
    "NotAwaited",
    "OutcomeUnknown",
    "ParallelError",
    "PatternError",
    "RunCancelled",
    "RunConflict",
    "RunDead",
    "RunError",
    "RunFailed",
    "RunForgotten",
    "RunLeftOpen",
    "RunNotHeld",
    "RunParked",
    "RunnerNotOpen",
    "RunnerRequired",
    "RunnerStopped",
    "ScheduleConflict",
    "ScheduleNotReadable",
    "ScheduleRefused",
    "StateChanged",
    "StepCancelled",
    "StepResultError",
    "StepTimeout",
    "UncleanStep",
    "UnknownField",
    "UnknownSignal",
    "UnknownWorkflow",
    "WaitExpired",
    "WorkflowError",
    "WorkflowNotFound",
]


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
        super().__init__(f"{what} needs {package}, which is not installed: {how_to_install(extra)}")
        self.what = what
        self.package = package
        self.extra = extra


class RunnerNotOpen(WorkflowError):
    """A runner was used before it was entered or after it was left."""

    def __init__(self) -> None:
        super().__init__("the runner is not open: use it inside `async with Runner(…)`")


class WorkflowNotFound(WorkflowError, LookupError):
    """A runner knows no workflow of this name, or not of this version.

    Attributes:
        name: The name.
        known: Those that it knows.
        version: The version, if one was asked for.
    """

    def __init__(self, name: str, known: Sequence[str], version: int | None = None) -> None:
        of = "" if version is None else f" version {version}"
        super().__init__(f"this runner knows no workflow {name!r}{of}; it knows: {', '.join(known) or 'none'}")
        self.name = name
        self.known = tuple(known)
        self.version = version


class LifespanFailed(WorkflowError):
    """A workflow's ``lifespan=`` could not be entered; the cause says why. Nothing of the run has been done.

    Attributes:
        workflow: Name of the workflow.
        why: What went wrong.
    """

    def __init__(self, workflow: str, why: str) -> None:
        super().__init__(f"what workflow {workflow!r} needs around its runs could not be opened: {why}")
        self.workflow = workflow
        self.why = why


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


class RunnerRequired(WorkflowError):
    """A step does what a run in memory cannot: it waits for somebody, or uses a table of the store's database."""

    def __init__(self, workflow: str, step: str, does: str = "waits for somebody outside") -> None:
        super().__init__(
            f"step {step!r} of {workflow!r} {does}, and a run in memory cannot: "
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
