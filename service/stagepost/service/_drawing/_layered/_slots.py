"""The slots of a layered graph: its boxes, and where its arrows pass through ranks between their ends."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from stagepost._dataclasses import dataclass

from ._values import Arc, Vertex

LABEL_HEIGHT = 16.0
_BEND = 6.0
_MOST_BENDS = 4000  # of all arrows together; beyond that, the longest run straight over what is between their ends


@dataclass(slots=True)
class Slot:
    """Something that takes room in a rank.

    Attributes:
        width: How much.
        height: The same, downwards.
        rank: Which rank.
        is_box: Whether it is a box, and not a point of an arrow.
        beside: The slot that it stays to the right of; None if it may be anywhere in its rank.
        x: Its middle.
    """

    width: float
    height: float
    rank: int
    is_box: bool
    beside: int | None = None
    x: float = 0.0


@dataclass(slots=True)
class Slots:
    """All of them.

    Attributes:
        every: By number.
        links: Which belong together from one rank to the next one, with how strongly they are drawn under one another.
        trails: Of each arrow, the slots between its ends, from above.
        labels: Of each arrow, the slot that has its label; None if it has none.
        longest: How many ranks an arrow may pass and still have slots in them.
    """

    every: list[Slot] = field(default_factory=list)
    links: list[tuple[int, int, float]] = field(default_factory=list)
    trails: list[list[int]] = field(default_factory=list)
    labels: list[int | None] = field(default_factory=list)
    longest: int = _MOST_BENDS

    def add(self, slot: Slot) -> int:
        """Add one; returns its number."""
        self.every.append(slot)
        return len(self.every) - 1


def slots_of(
    vertices: Sequence[Vertex], arcs: Sequence[Arc], rank: Mapping[str, int], back: frozenset[int]
) -> tuple[Slots, Mapping[str, int]]:
    """The slots of a graph, and the number of each box's."""
    slots = Slots(longest=_longest(arcs, rank))
    boxes = {each.key: slots.add(Slot(each.width, each.height, rank[each.key], is_box=True)) for each in vertices}
    for number, arc in enumerate(arcs):
        if number in back:
            _add_back(slots, boxes[arc.target], boxes[arc.source], arc)
        else:
            _add_forward(slots, boxes[arc.source], boxes[arc.target], arc)
    return slots, boxes


def _add_forward(slots: Slots, upper: int, lower: int, arc: Arc) -> None:
    first, last = slots.every[upper].rank, slots.every[lower].rank
    trail = _between(slots, first, last)
    _join(slots, [upper, *trail, lower])
    _finish(slots, trail, trail, arc)


def _add_back(slots: Slots, upper: int, lower: int, arc: Arc) -> None:
    """It leaves its source to the right, rises, and enters its target from the right."""
    first, last = slots.every[upper].rank, slots.every[lower].rank
    between = _between(slots, first, last)
    top = slots.add(_point(first, beside=upper))
    bottom = top if upper == lower else slots.add(_point(last, beside=lower))
    trail = [top, *between] if upper == lower else [top, *between, bottom]
    _join(slots, trail)
    _finish(slots, trail, between or [bottom], arc)


def _longest(arcs: Sequence[Arc], rank: Mapping[str, int]) -> int:
    spans = [abs(rank[arc.target] - rank[arc.source]) for arc in arcs]
    return _MOST_BENDS if sum(spans) <= _MOST_BENDS else _MOST_BENDS // len(arcs)


def _between(slots: Slots, first: int, last: int) -> list[int]:
    if last - first > slots.longest + 1:
        return []
    return [slots.add(_point(rank)) for rank in range(first + 1, last)]


def _point(rank: int, *, beside: int | None = None) -> Slot:
    return Slot(_BEND, 0.0, rank, is_box=False, beside=beside)


def _join(slots: Slots, passed: Sequence[int]) -> None:
    """Link the slots of an arrow, as far as they are in neighbouring ranks."""
    for one, other in pairwise(passed):
        if slots.every[other].rank - slots.every[one].rank > 1:
            continue
        boxes = slots.every[one].is_box + slots.every[other].is_box
        slots.links.append((one, other, (8.0, 2.0, 1.0)[boxes]))


def _finish(slots: Slots, trail: list[int], free: Sequence[int], arc: Arc) -> None:
    label = free[len(free) // 2] if arc.label_width and free else None
    if label is not None:
        slots.every[label].width = arc.label_width
        slots.every[label].height = LABEL_HEIGHT
    slots.trails.append(trail)
    slots.labels.append(label)
