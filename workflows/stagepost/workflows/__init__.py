"""Workflows: steps composed in code, run in memory or, under a `Runner`, so that they survive their process."""

from typing import TYPE_CHECKING

from stagepost.checkpoint import Continued

from ._containment import own_failure
from ._engine._intermediates import Intermediate
from ._engine._memory_room import MemoryRoom
from ._events import (
    ChainProgress,
    Checkpointed,
    ItemEnded,
    ItemsFrozen,
    LargeValue,
    NodeEntered,
    NodeRevisited,
    PatternEnded,
    PatternStarted,
    RouteTaken,
    RunEnded,
    RunEvent,
    RunStarted,
    StepEnded,
    StepRetried,
    StepStarted,
    WaitOpened,
)
from ._execution._signal_box import Signal
from ._history._entries import (
    AttemptEntry,
    ChildEntry,
    FrameEntry,
    HistoryEntry,
    ItemsEntry,
    RunEntry,
    RunHistory,
    WaitEntry,
)
from ._history._parts import AskedArrow, DecisionEntry, RetryEntry
from ._history._reading import Recorded, read_history, read_value
from ._history._values import KeyChange, RecordedValue
from ._ids import new_run_id
from ._lifespans import Lifespan
from ._listening._listening import Listening
from ._listening._source import Source
from ._listening._told import Heard, Told
from ._patterns._chain import Chain
from ._patterns._conditional import Conditional
from ._patterns._fold import Fold
from ._patterns._graph import END, Graph
from ._patterns._parallel import Parallel
from ._patterns._pattern import Pattern, Servable
from ._patterns._predicates import Predicate, all_of, any_of, key_equals, key_exists, not_
from ._progress import ProgressObserver
from ._runner._inbox import Inbox
from ._runner._limits import RunLimit
from ._runner._pending import PendingWait
from ._runner._recovery import RecoveryReport
from ._runner._run import Run
from ._runner._run_catalogue import RunCatalogue
from ._runner._run_view import RunView
from ._runner._runner import Runner
from ._runner._schedules_alone import ScheduleReader, pause_schedule, read_schedules
from ._runner._statistics import RunnerStatistics
from ._runner._timetable import Timetable
from ._runs._checking import RunReader, check_runs
from ._runs._forking import EffectsChoice
from ._runs._report import CheckReport, RunFinding, RunVerdict
from ._schedules._schedule import Schedule
from ._steps._ask import Ask
from ._steps._context import StepContext
from ._steps._outcome import StepOutcome, outcome_of
from ._steps._receives import AnswerTypes, Receives
from ._steps._retry import Retry
from ._steps._step import Step, step
from ._steps._wait import Receive, Sleep, Wait
from ._strand import guarded
from ._streams._parts import (
    ItemOver,
    RunOver,
    RunPart,
    StateShown,
    StepSaved,
    StepTold,
    ToldMissed,
    WaitBegan,
    WaitOver,
)
from ._streams._stream import RunStream
from ._threads import in_thread
from ._tracing import RunTracer, TracedRun, Tracer, TracerFactory, default_tracing, set_default_tracing
from ._values._append import Append, ListCodec
from ._values._mask import Mask
from ._values._mask_stream import MaskStream
from ._values._state import State
from .errors import (
    BranchError,
    CannotGoOn,
    ChainError,
    ChildElsewhere,
    ChildFailed,
    ConditionalError,
    CursorRefused,
    DefinitionError,
    EffectError,
    EffectNotDone,
    EffectsAgain,
    EffectUnderWay,
    ExtraMissing,
    FoldError,
    ForkRefused,
    GraphError,
    HubRequired,
    IncompatibleCheckpoint,
    ItemAccounts,
    ItemFailure,
    LifespanFailed,
    MaskedError,
    MergeConflict,
    MissingKey,
    MissingSecret,
    NotAwaited,
    OutcomeUnknown,
    ParallelError,
    PatternError,
    RunCancelled,
    RunConflict,
    RunDead,
    RunError,
    RunFailed,
    RunForgotten,
    RunLeftOpen,
    RunnerNotOpen,
    RunnerRequired,
    RunnerStopped,
    RunNotHeld,
    RunParked,
    ScheduleConflict,
    ScheduleNotReadable,
    ScheduleRefused,
    StateChanged,
    StepCancelled,
    StepResultError,
    StepTimeout,
    UncleanStep,
    UnknownField,
    UnknownSignal,
    UnknownWorkflow,
    WaitExpired,
    WorkflowError,
    WorkflowNotFound,
)

if TYPE_CHECKING:
    from ._patterns._config import GraphConfig, ParallelConfig
    from ._runner._config import RunnerConfig

__all__ = [
    "END",
    "AnswerTypes",
    "Append",
    "Ask",
    "AskedArrow",
    "AttemptEntry",
    "BranchError",
    "CannotGoOn",
    "Chain",
    "ChainError",
    "ChainProgress",
    "CheckReport",
    "Checkpointed",
    "ChildElsewhere",
    "ChildEntry",
    "ChildFailed",
    "Conditional",
    "ConditionalError",
    "Continued",
    "CursorRefused",
    "DecisionEntry",
    "DefinitionError",
    "EffectError",
    "EffectNotDone",
    "EffectUnderWay",
    "EffectsAgain",
    "EffectsChoice",
    "ExtraMissing",
    "Fold",
    "FoldError",
    "ForkRefused",
    "FrameEntry",
    "Graph",
    "GraphConfig",
    "GraphError",
    "Heard",
    "HistoryEntry",
    "HubRequired",
    "Inbox",
    "IncompatibleCheckpoint",
    "Intermediate",
    "ItemAccounts",
    "ItemEnded",
    "ItemFailure",
    "ItemOver",
    "ItemsEntry",
    "ItemsFrozen",
    "KeyChange",
    "LargeValue",
    "Lifespan",
    "LifespanFailed",
    "ListCodec",
    "Listening",
    "Mask",
    "MaskStream",
    "MaskedError",
    "MemoryRoom",
    "MergeConflict",
    "MissingKey",
    "MissingSecret",
    "NodeEntered",
    "NodeRevisited",
    "NotAwaited",
    "OutcomeUnknown",
    "Parallel",
    "ParallelConfig",
    "ParallelError",
    "Pattern",
    "PatternEnded",
    "PatternError",
    "PatternStarted",
    "PendingWait",
    "Predicate",
    "ProgressObserver",
    "Receive",
    "Receives",
    "Recorded",
    "RecordedValue",
    "RecoveryReport",
    "Retry",
    "RetryEntry",
    "RouteTaken",
    "Run",
    "RunCancelled",
    "RunCatalogue",
    "RunConflict",
    "RunDead",
    "RunEnded",
    "RunEntry",
    "RunError",
    "RunEvent",
    "RunFailed",
    "RunFinding",
    "RunForgotten",
    "RunHistory",
    "RunLeftOpen",
    "RunLimit",
    "RunNotHeld",
    "RunOver",
    "RunParked",
    "RunPart",
    "RunReader",
    "RunStarted",
    "RunStream",
    "RunTracer",
    "RunVerdict",
    "RunView",
    "Runner",
    "RunnerConfig",
    "RunnerNotOpen",
    "RunnerRequired",
    "RunnerStatistics",
    "RunnerStopped",
    "Schedule",
    "ScheduleConflict",
    "ScheduleNotReadable",
    "ScheduleReader",
    "ScheduleRefused",
    "Servable",
    "Signal",
    "Sleep",
    "Source",
    "State",
    "StateChanged",
    "StateShown",
    "Step",
    "StepCancelled",
    "StepContext",
    "StepEnded",
    "StepOutcome",
    "StepResultError",
    "StepRetried",
    "StepSaved",
    "StepStarted",
    "StepTimeout",
    "StepTold",
    "Timetable",
    "Told",
    "ToldMissed",
    "TracedRun",
    "Tracer",
    "TracerFactory",
    "UncleanStep",
    "UnknownField",
    "UnknownSignal",
    "UnknownWorkflow",
    "Wait",
    "WaitBegan",
    "WaitEntry",
    "WaitExpired",
    "WaitOpened",
    "WaitOver",
    "WorkflowError",
    "WorkflowNotFound",
    "all_of",
    "any_of",
    "check_runs",
    "default_tracing",
    "guarded",
    "in_thread",
    "key_equals",
    "key_exists",
    "new_run_id",
    "not_",
    "outcome_of",
    "own_failure",
    "pause_schedule",
    "read_history",
    "read_schedules",
    "read_value",
    "set_default_tracing",
    "step",
]


def __getattr__(name: str) -> object:
    """Import what is a pydantic model only when it is asked for: building it takes time."""
    if name in ("GraphConfig", "ParallelConfig"):
        from ._patterns import _config  # noqa: PLC0415  # as below

        return getattr(_config, name)
    if name == "RunnerConfig":
        from ._runner._config import RunnerConfig  # noqa: PLC0415  # that is the point

        return RunnerConfig
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
