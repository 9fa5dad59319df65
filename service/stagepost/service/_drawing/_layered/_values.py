"""What a layout is asked for, and what it says."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Vertex(NamedTuple):
    """A box that is to be placed.

    Attributes:
        key: Unique in its graph.
        width: In units of the picture.
        height: The same.
    """

    key: str
    width: float
    height: float


class Arc(NamedTuple):
    """An arrow from one box to another, or to itself.

    Attributes:
        source: Key of the box that it leaves.
        target: Key of the box that it enters.
        label_width: How much room its label needs; 0 without one.
    """

    source: str
    target: str
    label_width: float = 0.0


class Point(NamedTuple):
    """A place in the picture: from the left, and from the top."""

    x: float
    y: float


class Route(NamedTuple):
    """How an arrow runs.

    Attributes:
        path: Its line, as the ``d`` of an SVG path.
        tip: Where it ends.
        leads_back: Whether it leads up, to where the way has been before: then it ends from the right, else from above.
        label: The middle of its label.
    """

    path: str
    tip: Point
    leads_back: bool
    label: Point


class Laid(NamedTuple):
    """A graph that was laid out.

    Attributes:
        corners: The upper left corner of each box.
        routes: Of the arrows, in the order in which they were given.
        width: Of the whole.
        height: Of the whole.
    """

    corners: Mapping[str, Point]
    routes: Sequence[Route]
    width: float
    height: float
