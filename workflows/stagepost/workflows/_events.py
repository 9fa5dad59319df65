"""The events of runs: metadata only, never a value of a state."""

from datetime import datetime
from typing import Any, ClassVar, Protocol

from stagepost._dataclasses import dataclass
from stagepost.hub import Event, Level


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent(Event):
    """Something that happened in a run.

    Attributes:
        run_id: The run.
        workflow: Name of its workflow.
    """

    log_names: ClassVar[tuple[str, ...]] = ("workflow", "run_id")

    run_id: str
    workflow: str


class EventKind(Protocol):
    """A class of events of runs: called with the fields that are its own, and those of `RunEvent`."""

    @property
    def level(self) -> Level:
        """How much its events matter in a log."""
        ...

    def __call__(self, *args: Any, **fields: Any) -> RunEvent: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(RunEvent):
    """The run begins, or goes on where a process before this one left it.

    Attributes:
        recovered: Whether it goes on.
        trace: The trace that it belongs to, with all that its steps ask of agents; the same after a crash.
    """

    level: ClassVar[Level] = "info"
    log_words: ClassVar[str] = "run{recovered:again} started"
    recovered: bool
    trace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(RunEvent):
    """This process does no more for the run.

    Attributes:
        status: ``completed``, ``failed``, ``cancelled``, ``waiting`` if it is parked, or ``open`` if it was left or its
            store failed.
        seconds: Since `RunStarted`.
    """

    level: ClassVar[Level] = "info"
    log_words: ClassVar[str] = "run ended: {status}, after {seconds:ago}"
    status: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternStarted(RunEvent):
    """A pattern begins.

    Attributes:
        path: Where it stands; empty for the workflow itself.
        kind: ``chain``, ``fold``, ``parallel``, ``conditional`` or ``graph``.
        name: Its name.
        resumed: Whether it goes on where a process before this one has left it.
    """

    log_words: ClassVar[str] = "{kind} {name} started{path:at}"

    path: str
    kind: str
    name: str
    resumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternEnded(RunEvent):
    """The last result of a pattern is committed, or something in it has failed.

    Not told of patterns whose run is left open or cancelled.

    Attributes:
        path: Where it stands; empty for the workflow itself.
        kind: ``chain``, ``fold``, ``parallel``, ``conditional`` or ``graph``.
        name: Its name.
        ok: Whether it went well.
        seconds: Since `PatternStarted`.
    """

    log_words: ClassVar[str] = "{kind} {name} {ok:well}{path:at} after {seconds:ago}"

    path: str
    kind: str
    name: str
    ok: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted(RunEvent):
    """A step begins.

    Attributes:
        path: Where it stands.
    """

    log_words: ClassVar[str] = "step {path} started"

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded(RunEvent):
    """A step's result is committed, or the step failed.

    Attributes:
        path: Where it stands.
        ok: Whether it went well.
        seconds: Since `StepStarted`.
    """

    log_words: ClassVar[str] = "step {path} {ok:well} after {seconds:ago}"

    path: str
    ok: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainProgress(RunEvent):
    """A step of a chain, or an item of a fold, has ended well.

    Attributes:
        path: Where the chain or fold stands.
        index: Position of the step or item, from 0.
        total: How many there are.
    """

    log_words: ClassVar[str] = "step {index:nth} of {total} is done{path:at}"

    path: str
    index: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRetried(RunEvent):
    """A step has failed and will be tried again.

    Attributes:
        path: Where it stands.
        attempt: Which attempt has failed, from 1.
        seconds: Until the next one.
        error: Name of the error's class.
    """

    level: ClassVar[Level] = "warning"
    log_words: ClassVar[str] = "step {path} failed with {error}, attempt {attempt}; the next one in {seconds:ago}"
    path: str
    attempt: int
    seconds: float
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpointed(RunEvent):
    """Something was committed.

    Attributes:
        path: Of the branch, ``""`` for the run itself; or of the item, such as ``summaries[3]``.
        seq: Which version of the branch's frame; None where no frame was written.
        seconds: How long the store took.
    """

    log_words: ClassVar[str] = "committed{path:at} in {seconds:ago}"

    path: str
    seq: int | None
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteTaken(RunEvent):
    """A conditional's choice is committed.

    Attributes:
        path: Where the conditional stands.
        route: Which way it takes.
    """

    log_words: ClassVar[str] = "conditional {path} takes {route}"

    path: str
    route: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsFrozen(RunEvent):
    """The items of a fan-out are committed, or found again by a process that goes on with it.

    Attributes:
        path: Where the fan-out stands.
        total: How many items there are.
        done: How many of them were done before.
    """

    log_words: ClassVar[str] = "{total} items were stored{path:at}, {done} of them done before"

    path: str
    total: int
    done: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemEnded(RunEvent):
    """The outcome of one item is committed.

    Attributes:
        path: Where the fan-out stands.
        index: Which item.
        ok: Whether it went well.
        done: How many are done now.
        total: How many items there are.
    """

    log_words: ClassVar[str] = "item {index} {ok:well}{path:at}, {done} of {total} done"

    path: str
    index: int
    ok: bool
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeValue(RunEvent):
    """A value is so large that it makes the run slow; see `warn_value` of the store.

    Attributes:
        path: The step that has made it.
        name: Its key in the state, or what else it is.
        size: Bytes of its JSON.
    """

    level: ClassVar[Level] = "warning"
    log_words: ClassVar[str] = "value {name} of {size} bytes{path:at} makes the run slow"
    path: str
    name: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitOpened(RunEvent):
    """A step waits for something outside, and that is committed.

    Attributes:
        path: Where the step stands.
        kind: What ends the wait; see `WaitKind`.
        due_at: When it ends by itself (UTC); None for never.
    """

    level: ClassVar[Level] = "info"
    log_words: ClassVar[str] = "step {path} waits for {kind}{due_at:until}"
    path: str
    kind: str
    due_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEntered(RunEvent):
    """The way into a node of a graph is committed.

    Attributes:
        path: Where the node stands.
        visits: How often it has been entered.
    """

    log_words: ClassVar[str] = "node {path} was entered, visit {visits}"

    path: str
    visits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRevisited(NodeEntered):
    """A node of a graph was entered again."""
