"""What a pattern compiles itself with: it adds the pattern's places to the plan of the workflow."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import PLAIN, Codec

from .._pattern_errors import BranchError
from .._plans._plan import ArrowPlace, Done, FanOutPlace, Plan, PlanBuilder, RoutePlace, StepPlace, Target
from .._plans._within import Enclosing, Within, child_path
from .._steps._step import Step
from .._values._state import Stored
from ..errors import DefinitionError
from ._arrows import Arrow, ChoosingArrow, Next, arrow_path
from ._takes import check_takes

Updates: TypeAlias = dict[str, Stored]
"""What branches change in the state; `Target` makes it."""

Join: TypeAlias = Callable[[Target, Mapping[str, Done]], Updates]
"""Puts together what branches have made: given the state, and those that have ended well by their names."""


class Composite(Enclosing, Protocol):
    """A pattern as it is compiled."""

    @property
    def children(self) -> "Mapping[str, Step | Composite]":
        """Its parts that work on the same state, by name."""
        ...

    @property
    def root_path(self) -> str:
        """Its path where it is a whole plan."""
        ...

    def compile(self, builder: "Builder") -> str:
        """Add its places; returns the path of the first one."""
        ...


@dataclass(frozen=True, slots=True)
class Builder:
    """Adds the places of one pattern to the plan of its workflow: steps, choices, loops and branches.

    Each method adds places and returns the path of the one to begin with. What comes first is so added last: a place
    says by path where the workflow goes on after it.

    Attributes:
        pattern: The pattern.
        path: Its path: names from the root of the plan.
        after: Where the workflow goes on after the pattern; None for its end. To be handed on as it is.
        within: What encloses the pattern, for the patterns of this package.
        plan: The plan, likewise.
    """

    pattern: Composite
    path: str
    after: str | None
    within: Within
    plan: PlanBuilder

    def child(self, name: str, after: str | None) -> str:
        """Add a child that runs once whenever the workflow gets there.

        Args:
            name: Its name among the pattern's `children`.
            after: Where the workflow goes on after it: the path of another part, or the builder's own `after`.

        Returns:
            The path of its first place.
        """
        return self._child(name, after, self.within.inside(self.pattern, name, self.path))

    def choice(self, step: Step, ways: Mapping[str, str], *, default: str | None = None) -> str:
        """Add a step whose result is the name of the way to take. The choice is saved before the way is taken.

        Args:
            step: Takes the state, as every step does.
            ways: Where each way begins, by the names that the step may return.
            default: The way for every other name; without one, another name is an error.
        """
        check_takes(step, step.takes, self.plan.model)
        return self.plan.add(RoutePlace(self.own_path, self.own_level, step, ways, default))

    def loop(self, following: Next, arrows: Mapping[str, Sequence[Arrow]]) -> str:
        """Add all children as nodes: one at a time, any number of times, in an order that the state decides.

        Each visit of a node has a number, which survives a crash. What comes next is decided together with the step
        before and saved in the same commit.

        Args:
            following: Chooses the child that comes next, also the first one.
            arrows: What it may choose, by the child that has ended, and by the empty name for where it begins: for
                diagrams, and for telling whether a place can still be reached.

        Raises:
            DefinitionError: An arrow begins or ends at something that is no child.
        """
        self._check_arrows(arrows)
        nodes = {name: child_path(self.path, name) for name in self.pattern.children}
        entries = {name: self._node(name, path) for name, path in nodes.items()}
        enter = arrow_path(self.path, "")
        for name in (*nodes, ""):
            ways = [(arrow.label, self.after if arrow.to is None else entries[arrow.to]) for arrow in arrows[name]]
            choose = ChoosingArrow(self.pattern, name, enter, entries, nodes, following, self.after)
            level = self.within.inside(self.pattern, name, self.path)
            self.plan.add(ArrowPlace(arrow_path(self.path, name), level, choose, ways))
        return enter

    def branches(self, join: Join, *, enough: int | None = None) -> str:
        """Add all children as branches that run at once, each on the state as it is when the workflow gets there.

        A branch that fails fails the pattern: a `ParallelError` says which. It cancels the others.

        Args:
            join: Puts together what the branches have made.
            enough: How many have to end well: then the others are cancelled, and what they wait for is no longer asked.
                They may have ended as well by then, so `join` may get more. None for all.

        Raises:
            DefinitionError: There are fewer branches than that, or none.
        """
        names = tuple(self.pattern.children)
        if not 1 <= (len(names) if enough is None else enough) <= len(names):
            why = f"it has {len(names)} branches, and {'at least one' if enough is None else enough} has to end well"
            raise DefinitionError(self._where, why)
        at_once = AtOnce(self.pattern.name, self.pattern.kind, names, join, enough)
        workers = [self.branch(name) for name in names]
        return self.plan.add(FanOutPlace(self.own_path, self.own_level, at_once, workers, self.after, names))

    def branch(self, name: str) -> Plan:
        """A plan on the same kind of state, so that a branch sees what a step in its place would see."""
        inner, child = PlanBuilder(self.plan.schema), self.pattern.children[name]
        path = name if isinstance(child, Step) else child.root_path
        within = Within().inside(_Branch(name), name, None)
        return inner.plan(add_part(inner, child, path, None, within))

    @property
    def own_path(self) -> str:
        """Path of the one place that a pattern is itself.

        Raises:
            DefinitionError: It has none where it is the whole workflow.
        """
        if not self.path:
            raise DefinitionError(self._where, "it is a place itself, and these have a path: root_path is its name")
        return self.path

    @property
    def own_level(self) -> Within:
        """What encloses that place."""
        return self.within.inside(self.pattern, "", self.path)

    @property
    def _where(self) -> str:
        return f"{self.pattern.kind} {self.pattern.name!r}"

    def _node(self, name: str, path: str) -> str:
        within = self.within.inside(self.pattern, name, self.path, node=path)
        return self._child(name, arrow_path(self.path, name), within)

    def _child(self, name: str, after: str | None, within: Within) -> str:
        children = self.pattern.children
        if name not in children:
            raise DefinitionError(self._where, f"it has no child {name!r}; there are: {', '.join(children) or 'none'}")
        return add_part(self.plan, children[name], child_path(self.path, name), after, within)

    def _check_arrows(self, arrows: Mapping[str, Sequence[Arrow]]) -> None:
        known = {*self.pattern.children, ""}
        for name in (*arrows.keys(), *(arrow.to for each in arrows.values() for arrow in each if arrow.to is not None)):
            if name not in known:
                raise DefinitionError(self._where, f"an arrow begins or ends at {name!r}, and it has no such child")
        for name in sorted(known - arrows.keys()):
            begin = f"child {name!r}" if name else "its beginning, which is named ''"
            raise DefinitionError(self._where, f"no arrow leads on from {begin}: say in arrows= where to")


def add_part(plan: PlanBuilder, part: Step | Composite, path: str, after: str | None, within: Within) -> str:
    """Add the places of a step or a pattern; returns the path of the first one.

    Raises:
        DefinitionError: A step's function is written for another kind of state.
    """
    if isinstance(part, Step):
        check_takes(part, part.takes, plan.model)
        return plan.add(StepPlace(path, within, part, after))
    return part.compile(Builder(part, path, after, within, plan))


class AtOnce:
    """The branches of a pattern, as the engine sees them.

    Args:
        name: The pattern's name.
        kind: What it is.
        names: Of the branches.
        join: Puts together what they have made.
        enough: How many have to end well; None for all.
    """

    failures: str | None = None
    may_all_fail = False
    gathers: str | None = None
    item_key: str | None = None

    def __init__(self, name: str, kind: str, names: Sequence[str], join: Join, enough: int | None) -> None:
        self.name = name
        self.kind = kind
        self.enough = enough
        self.item_codec: Codec[Any] = PLAIN
        self.value_codec: Codec[Any] = PLAIN
        self._names = names
        self._join = join

    def items(self, state: Any) -> Sequence[Any]:  # noqa: ARG002  # the engine's signature
        """The names of the branches."""
        return self._names

    def width(self, count: int) -> int:
        """All at once."""
        return count

    def join(self, target: Target, done: Sequence[Done]) -> Updates:
        """What the branches that have ended well change in the state."""
        return self._join(target, {self._names[item.idx]: item for item in done})


@dataclass(frozen=True, slots=True)
class _Branch:
    """A branch as the one who says where a failure happened."""

    name: str
    kind: ClassVar[str] = "branch"

    def order(self, child: str) -> None:  # the pattern's signature
        """A branch has no parts."""

    def failed(self, child: str, cause: BaseException, *, state: Any, trail: Sequence[str]) -> BranchError:  # noqa: ARG002  # the pattern's signature
        return BranchError(self.name, cause, state=state)
