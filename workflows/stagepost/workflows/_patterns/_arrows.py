"""What comes after a node of a loop or a graph."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, NoReturn, Protocol

from stagepost._dataclasses import dataclass

from .._containment import own_failure
from .._plans._plan import Trail, View, Way
from .._plans._within import Enclosing, child_path
from ..errors import CannotGoOn


class Arrow(NamedTuple):
    """A way that may be taken after a node.

    Attributes:
        to: Name of the child that it leads to; None if it leads out of the pattern.
        label: When it is taken, in a few words, for diagrams.
    """

    to: str | None
    label: str | None = None


class Next(Protocol):
    """Chooses what comes after a child. It is asked once for each, and its answer is saved; it must not do anything."""

    def __call__(self, child: str, state: View, entered: int, /) -> str | None:
        """The name of the child that comes next; None to leave the pattern.

        Args:
            child: The child that has ended; empty where the pattern begins.
            state: Gives the state when it is called.
            entered: How many children this way through the pattern has entered so far.

        Raises:
            CannotGoOn: There is no way on; any other error fails the pattern as well.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChoosingArrow:
    """Has what comes after a node chosen, and counts.

    A node's visits are never reset, so that a visit's number is unique in the run. The nodes entered since the pattern
    began are counted beside them, under the path of the arrow that enters it, and forgotten where it is left.

    Attributes:
        pattern: The pattern.
        node: The node; empty for the arrow that enters the pattern.
        counter: Where the nodes that were entered are counted.
        entries: Places where nodes begin.
        nodes: Paths of nodes, under which their visits are counted.
        following: Chooses.
        after: Where the branch goes on after the pattern.
    """

    pattern: Enclosing
    node: str
    counter: str
    entries: Mapping[str, str]
    nodes: Mapping[str, str]
    following: Next
    after: str | None

    def __call__(self, view: View, visits: Mapping[str, int], trail: Trail) -> Way:
        entered = visits.get(self.counter, 0) if self.node else 0
        try:
            target = self.following(self.node, view, entered)
            if target is not None and target not in self.nodes:
                raise CannotGoOn(f"{target!r:.100} is to come next, and there is no such child")  # noqa: TRY301  # as if it had been raised
        except BaseException as error:  # noqa: BLE001  # a user's function; what is no failure is raised again
            self._fail(own_failure(error), view, trail)
        if target is None:
            return self.after, {key: count for key, count in visits.items() if key != self.counter}, ()
        node_path = self.nodes[target]
        counts = {**visits, self.counter: entered + 1, node_path: visits.get(node_path, 0) + 1}
        return self.entries[target], counts, (node_path,)

    def _fail(self, error: BaseException, view: View, trail: Trail) -> NoReturn:
        cause = error.__cause__ if isinstance(error, CannotGoOn) else error
        raise self.pattern.failed(self.node, error, state=_seen(view), trail=_path(trail)) from cause


def arrow_path(path: str, node: str) -> str:
    """Path of the arrow after a node; of the one into the pattern, if there is no node. Names cannot contain it.

    A graph that is itself a node has both, so they differ: ``a/->`` leads into graph ``a``, ``a->`` on from node ``a``.
    """
    return f"{child_path(path, node)}->" if node else child_path(path, "->")


def _seen(view: View) -> Any:
    """The state for an error that is on its way; None if it cannot be made."""
    try:
        return view()
    except BaseException as error:  # noqa: BLE001  # what is no failure is raised again
        own_failure(error)
        return None


def _path(trail: Trail) -> Sequence[str]:
    return [*chain.from_iterable(trail)]
