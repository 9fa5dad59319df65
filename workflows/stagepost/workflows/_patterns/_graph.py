"""Steps as the nodes of a graph, with edges that may lead back."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from pydantic import BaseModel

from stagepost.checkpoint import Snapshot
from stagepost.hub import check_name

from .._arguments import from_one
from .._containment import own_failure
from .._lifespans import Lifespan
from .._pattern_errors import describe
from .._plans._decisions import AskedView
from .._plans._plan import View
from ..errors import CannotGoOn, DefinitionError, GraphError
from ._arrows import Arrow, arrow_path
from ._builder import Builder
from ._pattern import Node, NodeLike, Pattern, Servable
from ._predicates import Predicate, check_predicate, label_of, says_yes

if TYPE_CHECKING:
    from ._config import GraphConfig

_MAX_STEPS: Final = 1000


class End(Enum):
    """What an edge leads to that leads out of its graph."""

    END = "the end"


END: Final = End.END
"""Out of the graph: ``graph.edge("draft", END, when=key_equals("ok", True))``."""


class Edge(NamedTuple):
    """A way from one node to another, or out of the graph.

    Attributes:
        target: Name of the node that it leads to; `END` for none.
        when: Whether it may be taken in a state; None for always.
    """

    target: str | End
    when: Predicate | None


class Graph(Pattern):
    """Steps as the nodes of a graph, one at a time; edges are tried in the order they were added.

    An edge's predicate is evaluated together with the node before it, and its choice saved in the same commit. Visits
    and limits survive a crash. What should run at once is a `Parallel` in a node.

    Args:
        name: The graph's name.
        max_steps: How many nodes one way through the graph may enter; None for no limit. By default 1,000.
        config: The same from configuration.
        state: A pydantic model for the state instead of a plain `State`.
        types: Types of single keys of a plain state.
        version: Declared version of the definition.
        companions: Workflows whose runs its steps start, see `StepContext.child`.
        lifespan: Opens what its steps find as ``context.resources``, see `Pattern.lifespan`.

    Raises:
        DefinitionError: `max_steps` is less than 1, or given beside `config`.
    """

    kind = "graph"

    def __init__(
        self,
        name: str,
        *,
        max_steps: int | Literal["default"] | None = "default",
        config: "GraphConfig | None" = None,
        state: type[BaseModel] | None = None,
        types: Mapping[str, Any] | None = None,
        version: int = 1,
        companions: Sequence[Servable] = (),
        lifespan: Lifespan | None = None,
    ) -> None:
        super().__init__(name, state=state, types=types, version=version, companions=companions, lifespan=lifespan)
        self.max_steps = self._limit(max_steps, config)
        self._nodes: dict[str, Node] = {}
        self._edges: dict[str, list[Edge]] = {}
        self._start: str | None = None
        self._finish: set[str] = set()
        self._used = False

    def _limit(self, max_steps: int | Literal["default"] | None, config: "GraphConfig | None") -> int | None:
        if max_steps == "default":
            if config is not None and not hasattr(config, "max_steps"):
                raise DefinitionError(self._where, f"config={config!r:.80}: give a GraphConfig")
            return _MAX_STEPS if config is None else config.max_steps
        if config is not None:
            raise DefinitionError(self._where, "max_steps= is in config=, too: give one of them")
        from_one(self._where, "max_steps", max_steps)
        return max_steps

    @property
    def root_path(self) -> str:
        return ""  # its nodes are the places

    @property
    def children(self) -> Mapping[str, Node]:
        return self._nodes

    def add(self, name: str, node: NodeLike) -> None:
        """Add a node.

        Raises:
            DefinitionError: There is one of this name, or the graph is in use already.
        """
        self._check_unused()
        check_name("node name", name)
        if name in self._nodes:
            raise DefinitionError(self._where, f"there is a node {name!r} already: give this one another name")
        self._nodes[name] = self.part(node)
        self._edges[name] = []

    def edge(self, source: str, target: str | End, *, when: Predicate | None = None) -> None:
        """Lead from one node to another, or with `END` out of the graph, always or when a predicate says so.

        Raises:
            DefinitionError: One of the nodes has not been added, or the predicate is no sync function.
        """
        self._check_unused()
        if when is not None:
            check_predicate(f"{self._where}, edge from {source!r} to {_name(target)}", when)
        self._edges[self._known(source)].append(Edge(target if target is END else self._known(target), when))

    def start(self, name: str) -> None:
        """Say where the graph is entered.

        Raises:
            DefinitionError: The node has not been added, or the graph has another start.
        """
        self._check_unused()
        if self._start is not None:
            raise DefinitionError(self._where, f"it starts at {self._start!r} already")
        self._start = self._known(name)

    def finish(self, *names: str) -> None:
        """Say behind which nodes the graph ends, outgoing edges or not.

        Raises:
            DefinitionError: A node has not been added.
        """
        self._check_unused()
        self._finish.update(map(self._known, names))

    def compile(self, builder: Builder) -> str:
        start = self._validate()
        self._used = True
        arrows = {name: self._arrows(name) for name in self._nodes}
        return builder.loop(self._next, {**arrows, "": [Arrow(start)]})

    def failed(self, child: str, cause: BaseException, *, state: Any, trail: Sequence[str]) -> GraphError:
        return GraphError(self.name, child, describe(cause), path=trail, state=state)

    def foresee(self, snapshot: Snapshot, state: Any, path: str) -> Iterator[str]:
        entered = snapshot.root.visits.get(arrow_path(path, ""), 0)
        if self.max_steps is not None and entered >= self.max_steps:
            yield f"{self._where} has taken {entered} steps, and max_steps={self.max_steps}: it fails at the next one"
        yield from super().foresee(snapshot, state, path)

    def _arrows(self, name: str) -> Sequence[Arrow]:
        edges = [Edge(END, None)] if name in self._finish else self._edges[name]
        return [Arrow(None if edge.target is END else edge.target, _label(edge)) for edge in edges]

    def _next(self, node: str, view: View, entered: int) -> str | None:
        target = self._start if not node else None if node in self._finish else self._choose(self._edges[node], view)
        if target is not None and self.max_steps is not None and entered >= self.max_steps:
            raise CannotGoOn(f"it has taken max_steps={self.max_steps} steps: raise it, or check the edges")
        return target

    def _choose(self, edges: Sequence[Edge], view: View) -> str | None:
        if edges[0].when is None:
            return None if edges[0].target is END else edges[0].target
        if type(view) is AskedView:  # as there is no other, and this is asked at each arrow
            edges = [_told(edge, view) for edge in edges]
        state = None
        for edge in edges:
            try:
                state = view() if state is None else state
                if edge.when is None or says_yes(edge.when, state):
                    return None if edge.target is END else edge.target
            except BaseException as error:  # noqa: BLE001  # what is no failure is raised again
                failure = own_failure(error)
                why = f"the predicate of its edge to {_name(edge.target)} raised {describe(failure)}"
                raise CannotGoOn(why) from failure
        raise CannotGoOn("none of its edges matches the state: add one without when=, or make it a finish")

    @property
    def _where(self) -> str:
        return f"graph {self.name!r}"

    def _check_unused(self) -> None:
        if self._used:
            raise DefinitionError(self._where, "it has been run or registered and can no longer change")

    def _known(self, name: str) -> str:
        if name not in self._nodes:
            known = ", ".join(self._nodes) or "none yet"
            raise DefinitionError(self._where, f"there is no node {name!r}: add it first (there are: {known})")
        return name

    def _validate(self) -> str:
        if self._start is None:
            raise DefinitionError(self._where, "it has no start: call start(node)")
        if not self._finish and not any(edge.target is END for edges in self._edges.values() for edge in edges):
            raise DefinitionError(self._where, "it has no end: call finish(node), or add an edge to END")
        for name, edges in self._edges.items():
            if not edges and name not in self._finish:
                raise DefinitionError(self._where, f"node {name!r} leads nowhere: add an edge, or make it a finish")
        lost = sorted(self._nodes.keys() - self._reachable(self._start))
        if lost:
            raise DefinitionError(self._where, f"no edges lead from the start to node {lost[0]!r}")
        return self._start

    def _reachable(self, start: str) -> set[str]:
        seen, ahead = {start}, [start]
        while ahead:
            name = ahead.pop()
            edges = [] if name in self._finish else self._edges[name]
            fresh = {edge.target for edge in edges if edge.target is not END} - seen
            seen |= fresh
            ahead.extend(fresh)
        return seen


def _name(target: str | End) -> str:
    return target.value if isinstance(target, End) else repr(target)


def _told(edge: Edge, view: AskedView) -> Edge:
    """The edge, whose answer is noted when it is asked."""

    def when(state: Any) -> bool:
        says = edge.when is None or says_yes(edge.when, state)
        view.note(_label(edge), None if edge.target is END else edge.target, says=says)
        return says

    return Edge(edge.target, when)


def _label(edge: Edge) -> str | None:
    return None if edge.when is None else label_of(edge.when)
