"""Workflows: steps composed in code, run in memory or, under a `Runner`, so that they survive their process."""

from ._ask import Ask
from ._chain import Chain
from ._conditional import Conditional
from ._context import StepContext
from ._events import (
    ItemEnded,
    ItemsFrozen,
    NodeRevisited,
    RouteTaken,
    RunEnded,
    RunEvent,
    RunStarted,
    StepEnded,
    StepStarted,
)
from ._graph import Graph
from ._parallel import Parallel
from ._pattern import Pattern
from ._predicates import key_equals, key_exists
from ._recovery import RecoveryReport
from ._run import Run
from ._runner import Runner, Servable
from ._state import State
from ._step import Step, step
from .errors import (
    BranchError,
    ChainError,
    ConditionalError,
    DefinitionError,
    GraphError,
    HubRequired,
    IncompatibleCheckpoint,
    ItemAccounts,
    ItemFailure,
    MergeConflict,
    MissingKey,
    ParallelError,
    PatternError,
    RunCancelled,
    RunConflict,
    RunError,
    RunFailed,
    RunnerNotOpen,
    RunnerStopped,
    RunNotHeld,
    StepCancelled,
    StepResultError,
    StepTimeout,
    UnknownWorkflow,
    WorkflowError,
)

__all__ = [
    "Ask",
    "BranchError",
    "Chain",
    "ChainError",
    "Conditional",
    "ConditionalError",
    "DefinitionError",
    "Graph",
    "GraphError",
    "HubRequired",
    "IncompatibleCheckpoint",
    "ItemAccounts",
    "ItemEnded",
    "ItemFailure",
    "ItemsFrozen",
    "MergeConflict",
    "MissingKey",
    "NodeRevisited",
    "Parallel",
    "ParallelError",
    "Pattern",
    "PatternError",
    "RecoveryReport",
    "RouteTaken",
    "Run",
    "RunCancelled",
    "RunConflict",
    "RunEnded",
    "RunError",
    "RunEvent",
    "RunFailed",
    "RunNotHeld",
    "RunStarted",
    "Runner",
    "RunnerNotOpen",
    "RunnerStopped",
    "Servable",
    "State",
    "Step",
    "StepCancelled",
    "StepContext",
    "StepEnded",
    "StepResultError",
    "StepStarted",
    "StepTimeout",
    "UnknownWorkflow",
    "WorkflowError",
    "key_equals",
    "key_exists",
    "step",
]
