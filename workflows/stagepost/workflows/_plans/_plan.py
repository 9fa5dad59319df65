"""A workflow as a flat table of places: what the engine executes and a checkpoint points into.

Patterns compile themselves into places. Nested sequential patterns (chains, conditionals, graphs) share one table and
one frame; only the worker of a fan-out that is itself a pattern has a plan of its own. A place is named by the path
of step names that leads to it, and says by path where the branch goes on, so that what is saved is decided already.

Arrows are places between the steps of a graph: they choose the next node. They are followed together with the step
before them and stand in a checkpoint only when a predicate has raised.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeAlias

from pydantic import BaseModel

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import PLAIN, Codec, split_values

from .._steps._step import Step
from .._values._schema import Schema
from .._values._state import Stored, Value, Values
from ..errors import PatternError, WorkflowError
from ._decisions import Decisions
from ._within import Within

Trail: TypeAlias = tuple[Iterable[str], Iterable[str]]  # the nodes entered so far: before this way, and on it
Way: TypeAlias = tuple[str | None, Mapping[str, int], tuple[str, ...]]  # a `Position` in parts: each step makes one
View: TypeAlias = Callable[[], Any]  # the state


COUNTER = "[]"  # behind the path of a fold: how many of its items are done; no name can contain it


@dataclass(frozen=True, slots=True)
class StepPlace:
    """Runs a step; its result updates the state."""

    path: str
    within: Within
    step: Step
    after: str | None


@dataclass(frozen=True, slots=True)
class RoutePlace:
    """Chooses one of several ways; the choice is saved before the way is taken."""

    path: str
    within: Within
    step: Step
    ways: Mapping[str, str]
    default: str | None


@dataclass(frozen=True, slots=True)
class FoldPlace:
    """Applies a worker to one item after the other; each result is saved before the next one begins.

    Attributes:
        step: Takes a `Pair`.
        source: Where its items come from.
    """

    path: str
    within: Within
    step: Step
    source: "Source"
    after: str | None

    @property
    def counter(self) -> str:
        """Where the visits of its branch's frame say how many items are done."""
        return f"{self.path}{COUNTER}"


@dataclass(frozen=True, slots=True)
class FanOutPlace:
    """Runs a worker on each of many items at once.

    Attributes:
        workers: One for all items; or, if `branches` names them, one for each item in their order.
        branches: Names of different workers that run at once; empty if one worker takes all items.
    """

    path: str
    within: Within
    pattern: "Items"
    workers: Sequence["Step | Plan"]
    after: str | None
    branches: tuple[str, ...] = ()

    def has_worker(self, idx: int) -> bool:
        """Whether there is a worker for an item."""
        return not self.branches or idx < len(self.branches)

    def worker(self, idx: int) -> "Step | Plan":
        """The worker of an item."""
        return self.workers[idx if self.branches else 0]


class Done(NamedTuple):
    """An item or a branch that went well.

    Attributes:
        idx: Its position.
        input: What the worker got; the name of a branch.
        value: What the worker made; of a branch a dict of what its steps wrote.
    """

    idx: int
    input: Value
    value: Value

    def read(self) -> Any:
        """What was made, as plain JSON values."""
        return PLAIN.load(self.value.data)


class Target(NamedTuple):
    """The state that the values of items or branches are joined into.

    Attributes:
        name: The fan-out's name, for errors.
        state: The state as a step would see it.
        values: The same in its stored form.
        schema: What kind of state it is.
    """

    name: str
    state: Any
    values: Values
    schema: Schema

    def adopt(self, stored: Mapping[str, bytes]) -> dict[str, Stored]:
        """Values that are in their stored form already."""
        return self.schema.adopt(stored, self.values, self.name)

    def take(self, branch: Done) -> dict[str, Stored]:
        """All that a branch has written, as it is stored."""
        return self.adopt(split_values(branch.value.data))

    def update(self, result: object) -> dict[str, Stored]:
        """What a step changes that returns this."""
        return self.schema.updates(result, self.values, self.name)


class Source(Protocol):
    """Where the items of a fan-out or a fold come from.

    Attributes:
        name: The pattern's name.
        item_codec: Codec of its items.
    """

    name: str
    item_codec: Codec[Any]

    def items(self, state: Any) -> Sequence[Any]:
        """The items of a state."""
        ...


class Items(Source, Protocol):
    """A fan-out as its executor sees it.

    Attributes:
        kind: What it is, in one word, for its errors.
        enough: How many items have to end well, upon which the others are cancelled; None for all.
        failures: Key of the state for the failures; None if the first failure fails the fan-out.
        may_all_fail: Whether the run goes on although every item has failed, where failures are collected.
        gathers: Key of the state for the values of all items in one; None if there is no such key.
        value_codec: Codec of the values that a plain worker makes.
        item_key: Key of the state that a pattern as the worker finds its item under; None if it gets none.
    """

    kind: str
    enough: int | None
    failures: str | None
    may_all_fail: bool
    gathers: str | None
    value_codec: Codec[Any]
    item_key: str | None

    def width(self, count: int) -> int:
        """How many workers run at once."""
        ...

    def join(self, target: Target, done: Sequence[Done]) -> dict[str, Stored]:
        """What the items that went well change in the state.

        Raises:
            Exception: They cannot be put together, or `merge` raised.
        """
        ...


class Follow(Protocol):
    """Chooses the place behind an arrow. The state is made if somebody has to look at it.

    Raises:
        PatternError: There is no way on, or a function of the user's raised.
    """

    def __call__(self, view: View, visits: Mapping[str, int], trail: Trail) -> Way: ...


@dataclass(frozen=True, slots=True)
class ArrowPlace:
    """Leads from a node of a graph or a loop (or into it) to the next one (or out of it).

    Attributes:
        follow: Chooses.
        ways: Under which conditions, and to which places it may lead; None for the end of the plan.
    """

    path: str
    within: Within
    follow: Follow
    ways: Sequence[tuple[str | None, str | None]]

    def failure(self, error: PatternError, trail: Trail) -> WorkflowError:
        """Why it could not be followed, and where that is in the whole workflow."""
        return self.within.failure(error, state=error.state, trail=[*chain.from_iterable(trail)], own=False)


Place: TypeAlias = StepPlace | RoutePlace | FoldPlace | FanOutPlace | ArrowPlace


class Position(NamedTuple):
    """Where a branch stands.

    Attributes:
        next: Path of a place; None at the end.
        visits: How often each node of a graph was entered.
        entered: Paths of the nodes entered on the way here.
    """

    next: str | None
    visits: Mapping[str, int]
    entered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What a branch executes.

    Attributes:
        schema: What its states are.
        places: By path.
        start: Path of the first place.
        asks: Agents that its steps ask, workers included.
    """

    schema: Schema
    places: Mapping[str, Place]
    start: str
    asks: frozenset[str]

    def land(
        self,
        path: str | None,
        visits: Mapping[str, int],
        values: Values,
        trail: Iterable[str],
        decisions: Decisions | None = None,
    ) -> Position:
        """Follow arrows until a place is reached where there is something to do, or the end.

        Args:
            path: Where the branch goes on.
            visits: How often each node of a graph was entered.
            values: What its steps see.
            trail: Paths of the nodes entered before.
            decisions: Takes note of what is decided; None if nobody wants to know.

        Raises:
            WorkflowError: An arrow cannot be followed.
        """
        entered: tuple[str, ...] = ()
        while path is not None and isinstance(place := self.places[path], ArrowPlace):
            view: View = partial(self.schema.view, values)
            if decisions is not None:
                view = decisions.begin(place.path, view)
            try:
                path, visits, fresh = place.follow(view, visits, (trail, entered))
            except PatternError as error:
                failure = place.failure(error, (trail, entered))
                raise failure from failure.__cause__
            entered += fresh
            if decisions is not None:
                decisions.end(path)
        return Position(path, visits, entered)


@dataclass(slots=True)
class PlanBuilder:
    """Collects the places of one plan while patterns compile themselves into it.

    Attributes:
        schema: What the plan's states are.
    """

    schema: Schema
    places: dict[str, Place] = field(default_factory=dict)

    @property
    def model(self) -> type[BaseModel] | None:
        """Model of the states; None for plain ones."""
        return self.schema.model

    def add(self, place: Place) -> str:
        """Add a place; returns its path."""
        self.places[place.path] = place
        return place.path

    def plan(self, start: str) -> Plan:
        """What has been collected."""
        return Plan(self.schema, self.places, start, self._asks())

    def _asks(self) -> frozenset[str]:
        found: set[str] = set()
        for place in self.places.values():
            if isinstance(place, StepPlace | RoutePlace):
                found.update(place.step.asks)
            elif isinstance(place, FanOutPlace):
                found.update(*(worker.asks for worker in place.workers))
        return frozenset(found)
