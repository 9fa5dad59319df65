"""Where a stored run stands: the places of the steps whose results are not committed yet."""

from collections.abc import Iterator, Mapping, Sequence

from stagepost.checkpoint import Frame, ItemStatus, Snapshot

from .._ids import place_of
from .._plans._plan import COUNTER

_ARROW = "->"  # in the names under which the steps of a graph are counted, and in no name of a node


class Standing:
    """Where a run stands, as `StepContext.place` names it: the steps and workers that run next, or run again.

    It reads only what is stored, so that it also tells where a run of a definition stands that nobody has any more. Of
    an item whose first step has not ended there is no frame: wherever it stands below, it is under way.

    Args:
        snapshot: The run.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        visits = {f"{item.path}[{item.idx}]": item.visit for item in snapshot.items}
        workers = tuple(_workers(snapshot, visits))
        self._places = frozenset((*_steps(snapshot, visits), *workers))
        self._items = frozenset(place.partition("#")[0] for place in workers)

    def __contains__(self, place: str) -> bool:
        return place in self._places or any(item in self._items for item in _items_around(place))


def outer_of(path: str) -> str:
    """Path of the frame around the frame, fan-out or fold at a path."""
    outer, bracket, _ = path.rpartition("]/")
    return f"{outer}]" if bracket else ""


def _items_around(place: str) -> Iterator[str]:
    """Paths of the items that a place is in."""
    path, at = place.partition("#")[0], -1
    while (at := path.find("]/", at + 1)) != -1:
        yield path[: at + 1]


def _steps(snapshot: Snapshot, items: Mapping[str, int]) -> Iterator[str]:
    for frame in snapshot.frames.values():
        if frame.next is not None:
            path = f"{frame.path}/{frame.next}" if frame.path else frame.next
            done = frame.visits.get(f"{frame.next}{COUNTER}")
            index = "" if done is None and frame.width is None else f"[{done or 0}]"
            visits = (*_around(items, frame.path), _visit(frame.visits, frame.next))
            yield place_of(path + index, visits)


def _workers(snapshot: Snapshot, items: Mapping[str, int]) -> Iterator[str]:
    for item in snapshot.items:
        path = f"{item.path}[{item.idx}]"
        if item.status is not ItemStatus.OK and path not in snapshot.frames:
            yield place_of(path, (*_around(items, outer_of(item.path)), item.visit))


def _around(visits: Mapping[str, int], path: str) -> Sequence[int]:
    """Which visits of the fan-outs around it a frame belongs to, outermost first; given those of all items."""
    found: list[int] = []
    while path:
        found.append(visits.get(path, 0))
        path = outer_of(path.rpartition("[")[0])
    return found[::-1]


def _visit(visits: Mapping[str, int], path: str) -> int:
    """Which visit of the innermost graph node around a path it is; 0 outside of graphs."""
    nodes = [
        node for node in visits if _ARROW not in node and COUNTER not in node and f"{path}/".startswith(f"{node}/")
    ]
    return visits[max(nodes, key=len)] if nodes else 0


def position_of(frame: Frame) -> str:
    """Where a frame stands, for errors."""
    return f"{frame.path}/{frame.next}" if frame.path else str(frame.next)
