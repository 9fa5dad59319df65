"""A directed graph laid out in ranks, from above.

After Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System Structures" (1981): cycles are
broken, boxes ranked by the longest way to them, ranks ordered by barycentres, and columns found by least squares. All
of it goes by the order of what is given, so that the same graph is always drawn in the same way.
"""

from collections.abc import Sequence

from ._columns import place_columns
from ._crossings import ordered
from ._ranks import arcs_back, ranks
from ._routes import Band, backward, forward
from ._slots import Slots, slots_of
from ._values import Arc, Laid, Point, Vertex

_GAP = 30.0
_GAP_AT_LABELS = 18.0


def layered(vertices: Sequence[Vertex], arcs: Sequence[Arc]) -> Laid:
    """Lay a graph out.

    Args:
        vertices: Its boxes, in the order in which they are met.
        arcs: Its arrows, in the order in which they are tried; a cycle is entered at its first box.

    Returns:
        Where everything goes, from the upper left corner.
    """
    keys = [each.key for each in vertices]
    back = arcs_back(keys, arcs)
    slots, boxes = slots_of(vertices, arcs, ranks(keys, arcs, back), back)
    order = ordered(slots)
    place_columns(slots, order)
    bands = _bands(slots, order)
    routes = []
    for number, arc in enumerate(arcs):
        source, target = slots.every[boxes[arc.source]], slots.every[boxes[arc.target]]
        draw = (backward, target, source) if number in back else (forward, source, target)
        routes.append(draw[0](slots, number, draw[1], draw[2], bands))
    corners = {
        each.key: Point(slots.every[boxes[each.key]].x - each.width / 2, bands[slots.every[boxes[each.key]].rank].top)
        for each in vertices
    }
    width = max((slot.x + slot.width / 2 for slot in slots.every), default=0.0)
    return Laid(corners, routes, width, bands[-1].bottom if vertices else 0.0)


def _bands(slots: Slots, order: Sequence[Sequence[int]]) -> list[Band]:
    """Where the ranks are; those in which there are only lines and their labels are closer to the others."""
    bands: list[Band] = []
    had_boxes = True
    for rank in order:
        has_boxes = any(slots.every[number].is_box for number in rank)
        gap = _GAP if has_boxes and had_boxes else _GAP_AT_LABELS
        top = bands[-1].bottom + gap if bands else 0.0
        bands.append(Band(top, top + max((slots.every[number].height for number in rank), default=0.0)))
        had_boxes = has_boxes
    return bands
