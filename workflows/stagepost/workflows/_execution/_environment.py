"""What a runner executes runs with."""

from collections.abc import Callable
from typing import Any

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import CheckpointStore
from stagepost.hub import Emitter, Hub

from .._tracing import Tracer
from .._values._secrets import Secrets
from ._stored_lists import StoredLists


@dataclass(frozen=True, slots=True)
class Environment:
    """What a runner executes runs with; each process supplies its own.

    Attributes:
        store: Where runs are saved.
        emitter: Where events go.
        hub: Where steps ask agents.
        deps: Given to steps.
        clock: Seconds since 1970.
        secrets: Given to steps.
        lists: The lists of stored runs that are in memory.
        check_states: Whether steps that change their state in place fail; for tests.
        tracer: Traces the runs; None if nobody does.
    """

    store: CheckpointStore
    emitter: Emitter
    hub: Hub | None
    deps: Any
    clock: Callable[[], float]
    secrets: Secrets
    lists: StoredLists
    check_states: bool = False
    tracer: Tracer | None = None
