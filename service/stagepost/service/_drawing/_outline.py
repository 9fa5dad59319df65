"""A workflow as nested boxes, read from the skeleton that is stored with its runs: the code need not be there."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from pydantic_core import from_json

from stagepost._dataclasses import dataclass


class Kind(StrEnum):
    """What a box stands for."""

    STEP = "step"
    CHOICE = "choice"
    FOLD = "fold"
    EACH = "each"
    BRANCHES = "branches"
    CHAIN = "chain"
    GRAPH = "graph"
    CONDITIONAL = "conditional"
    END = "end"
    MORE = "more"
    HUB = "hub"
    AGENT = "agent"
    TOPIC = "topic"
    LISTENER = "listener"
    GROUP = "group"
    OUTSIDE = "outside"


class Way(NamedTuple):
    """An arrow between two boxes of one box.

    Attributes:
        source: Key of the box that it leaves.
        target: Key of the box that it enters.
        label: When it is taken; None for always.
    """

    source: str
    target: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A box.

    Attributes:
        key: Unique among all; a place has its path, what only encloses places has its path and a slash.
        path: Its path; of places below the items of a fan-out as ``orders[]/check``, of those in a branch as
            ``checks[0]/stock``.
        name: What it is called.
        kind: What it stands for.
        parts: Boxes in it.
        ways: Arrows between these.
    """

    key: str
    path: str
    name: str
    kind: Kind
    parts: "Sequence[Part]" = ()
    ways: Sequence[Way] = ()


def outline_of(skeleton: bytes, name: str) -> Part:
    """The outermost box of a workflow.

    Args:
        skeleton: As in `Snapshot.shape`.
        name: The workflow's.
    """
    return _Plan(from_json(skeleton), "").part("", name)


def parts_in(part: Part) -> Iterator[Part]:
    """A box, and all boxes in it at any depth, those that are outside first."""
    yield part
    for each in part.parts:
        yield from parts_in(each)


class _Plan:
    """The places of one plan.

    Args:
        places: By path, with arrows among them; patterns compile from their ends, so the last ones come first.
        prefix: How the paths of its boxes begin.
    """

    def __init__(self, places: Mapping[str, Mapping[str, Any]], prefix: str) -> None:
        self._places = places
        self._prefix = prefix
        self._steps = [path for path in reversed(tuple(places)) if places[path]["kind"] != "edge"]
        self._members = self._enclosed()

    def part(self, path: str, name: str) -> Part:
        """The box of what encloses places at a path; empty for the whole plan."""
        ways = _together(self._ways(path))
        keys = _as_met(self._start(path), [*map(self._key, self._members[path])], ways)
        parts = [self._member_part(path, key) for key in keys]
        return Part(
            self._prefix + path + ("/" if path or not self._prefix else ""),
            self._prefix + path,
            name,
            self._kind(path),
            parts,
            ways,
        )

    def _start(self, path: str) -> Sequence[str]:
        """Key of the box at which a graph begins; of others it is the one that no arrow leads to."""
        arrow = self._places.get(_below(path, "->"))
        first = None if arrow is None else self._member(path, _place_in(arrow["ways"][0][1]))
        return () if first is None else (first,)

    def _member_part(self, path: str, key: str) -> Part:
        if key == self._end(path):
            return Part(key, "", "end", Kind.END)
        own = key.removeprefix(self._prefix)
        return self._leaf(own) if own in self._places else self.part(own[:-1], _last(own[:-1]))

    def _kind(self, path: str) -> Kind:
        if path in self._places:
            return Kind.CONDITIONAL
        return Kind.GRAPH if _below(path, "->") in self._places else Kind.CHAIN

    def _leaf(self, path: str) -> Part:
        place, key = self._places[path], self._key(path)
        full, name = self._prefix + path, _last(path)
        match place["kind"]:
            case "conditional":
                return Part(key, full, name, Kind.CHOICE)
            case "fold":
                return Part(key, full, name, Kind.FOLD)
            case "parallel":
                return self._fan_out(key, full, name, place)
        return Part(key, full, name, Kind.STEP)

    def _fan_out(self, key: str, full: str, name: str, place: Mapping[str, Any]) -> Part:
        workers, branches = place["workers"], place["branches"]
        if not branches:
            inner = [_Plan(workers[0], f"{full}[]/").part("", "each item")] if workers[0] is not None else []
            return Part(key, full, name, Kind.EACH, inner)
        found = []
        for number, (branch, worker) in enumerate(zip(branches, workers, strict=True)):
            whole = _Plan(worker, f"{full}[{number}]/").part("", branch)
            found.append(whole.parts[0] if len(whole.parts) == 1 and not whole.ways else whole)
        return Part(key, full, name, Kind.BRANCHES, found)

    def _enclosed(self) -> Mapping[str, dict[str, None]]:
        """Keys of the boxes in each box, by its path; those of boxes that enclose others end with a slash."""
        members: dict[str, dict[str, None]] = {"": {}}
        for path in self._steps:
            names = path.split("/")
            is_choice = self._places[path]["kind"] == "conditional"
            for depth in range(len(names) + is_choice):
                outer, inner = "/".join(names[:depth]), "/".join(names[: depth + 1])
                key = inner if depth >= len(names) - (not is_choice) else f"{inner}/"
                members.setdefault(outer, {})[key] = None
        return members

    def _ways(self, path: str) -> Iterator[Way]:
        """Arrows between the boxes of one box."""
        for source, place in self._places.items():
            if place["kind"] == "edge":
                yield from self._arrows(path, source, place["ways"])
            elif place["kind"] == "conditional":
                for route, target in place["ways"].items():
                    yield from self._between(path, source, target, None if route == _last(target) else route)
            elif place["after"] is not None:
                yield from self._between(path, source, place["after"], None)

    def _between(self, path: str, source: str, target: str, label: str | None) -> Iterator[Way]:
        """The arrow from one place to another, if this is the innermost box that has both."""
        if target.endswith("->") and not _enters(target):
            return  # the graph's own arrows begin there
        one, other = self._member(path, source), self._member(path, _place_in(target))
        if one is not None and other is not None and one != other:
            yield Way(one, other, label)

    def _arrows(self, path: str, arrow: str, ways: Sequence[tuple[str | None, str | None]]) -> Iterator[Way]:
        if _enters(arrow):
            return  # it only says where the graph begins
        node = arrow.removesuffix("->")
        graph = node.rpartition("/")[0]
        for label, target in ways:
            inside = None if target is None else self._member(graph, _place_in(target))
            if path == graph:
                source = self._member(graph, node)
                assert source is not None  # noqa: S101  # it is a node of the graph
                yield Way(source, inside or self._end(graph), label)
            elif inside is None and target is not None:
                yield from self._between(path, graph, target, None)

    def _member(self, path: str, inner: str) -> str | None:
        """Key of the box in a box that a place belongs to; None if it is elsewhere."""
        below = f"{path}/" if path else ""
        if inner == path and path in self._places:
            return self._key(path)  # the choice itself
        if not inner.startswith(below) or inner == path:
            return None
        child = below + inner.removeprefix(below).split("/")[0]
        key = f"{child}/" if f"{child}/" in self._members.get(path, {}) else child
        return self._key(key) if key in self._members.get(path, {}) else None

    def _key(self, path: str) -> str:
        return self._prefix + path

    def _end(self, path: str) -> str:
        return self._prefix + _below(path, "->END")


def _together(ways: Iterable[Way]) -> list[Way]:
    """Arrows between the same boxes as one, which is taken if one of them is."""
    labels: dict[tuple[str, str], dict[str | None, None]] = {}
    for way in ways:
        labels.setdefault((way.source, way.target), {})[way.label] = None
    return [
        Way(source, target, None if None in found else " or ".join(filter(None, found)))
        for (source, target), found in labels.items()
    ]


def _as_met(start: Sequence[str], keys: Sequence[str], ways: Sequence[Way]) -> Sequence[str]:
    """Boxes in the order in which arrows lead to them, from the start."""
    ahead: dict[str, list[str]] = {}
    for way in ways:
        ahead.setdefault(way.source, []).append(way.target)
    entered = {way.target for way in ways if way.source != way.target}
    met: dict[str, None] = {}
    for first in [*start, *(key for key in keys if key not in entered), *keys]:
        waiting = [first]
        for key in waiting:  # it grows meanwhile
            if key not in met:
                met[key] = None
                waiting += ahead.get(key, ())
    return tuple(met)


def _enters(arrow: str) -> bool:
    """Whether an arrow leads into a graph."""
    return arrow == "->" or arrow.endswith("/->")


def _place_in(target: str) -> str:
    """What an arrow leads to: a place, or the graph that it enters."""
    return target.removesuffix("->").rstrip("/")


def _below(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _last(path: str) -> str:
    return path.rpartition("/")[2]
