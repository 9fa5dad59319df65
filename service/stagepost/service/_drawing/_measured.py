"""Boxes with their sizes, and where the boxes in them are."""

from collections.abc import Sequence
from typing import Final

from stagepost._dataclasses import dataclass

from ._boxes import Box
from ._layered._layout import layered
from ._layered._values import Arc, Point, Route, Vertex
from ._marks import TALLIED, WORDS
from ._outline import Kind, Way
from ._text import fitted, width_of

TITLE, SMALL = 13.0, 11.0
PAD: Final = 14.0
HEAD: Final = 30.0
LINE: Final = 16.0
CELL: Final = 11.0
CELL_GAP: Final = 3.0
CELLS_ROW: Final = 20
CELLS_MOST: Final = 100
BAR: Final = 8.0
BAR_WIDTH: Final = 200.0
_LEAST, _MOST_TITLE, _MOST_LABEL = 96.0, 220.0, 160.0
_SHELF, _SHELF_GAP = 720.0, 16.0
_SIGN = 20.0
_END = 12.0
_TOGGLE_GAP = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A box that knows how large it is.

    Attributes:
        box: It.
        title: Its name, cut to the room that there is.
        note: What else is said, the same.
        width: Of the box.
        height: The same, downwards.
        items_top: Where its items begin, from its upper edge.
        inner: The boxes in it, and where their upper left corners are.
        arrows: The arrows between these, with the labels that are shown; from `shift` on.
        shift: Where what is in it begins.
    """

    box: Box
    title: str
    note: str
    width: float
    height: float
    items_top: float = 0.0
    inner: "Sequence[tuple[Measured, Point]]" = ()
    arrows: Sequence[tuple[Way, Route, str]] = ()
    shift: Point = Point(0.0, 0.0)


def measured(box: Box) -> Measured:
    """A box with its size, and with those of all boxes in it."""
    if box.kind is Kind.END:
        return Measured(box=box, title="", note="", width=_END, height=_END)
    if box.inner:
        return _open(box)
    title, note = fitted(box.name, _MOST_TITLE, TITLE), fitted(box.note, _MOST_TITLE + 60, SMALL)
    texts = [width_of(title, TITLE) + _toggle_width(box), width_of(note, SMALL)]
    items_width, items_height = _items_size(box)
    width = max(_LEAST, _SIGN + max(texts) + 2 * 10, items_width + 2 * 10)
    top = 34.0 + (LINE if note else 0)
    return Measured(
        box=box, title=title, note=note, width=width, height=top + items_height, items_top=top - 4, inner=()
    )


def _open(box: Box) -> Measured:
    inner = [measured(each) for each in box.inner]
    placed, arrows, width, height = _laid(box, inner) if box.ways else _side_by_side(inner)
    title, note = fitted(box.name, _MOST_TITLE, TITLE), fitted(box.note, _MOST_TITLE + 60, SMALL)
    head = _SIGN + width_of(title, TITLE) + 10 + width_of(box.kind.value, SMALL) + _toggle_width(box)
    items_width, items_height = _items_size(box)
    top = HEAD + (LINE if note else 0)
    whole = max(width, head, width_of(note, SMALL) + _SIGN, items_width) + 2 * PAD
    shift = Point((whole - width) / 2, top + items_height)
    return Measured(
        box=box,
        title=title,
        note=note,
        width=whole,
        height=top + items_height + height + PAD,
        items_top=top - 2,
        inner=[(each, Point(corner.x + shift.x, corner.y + shift.y)) for each, corner in placed],
        arrows=arrows,
        shift=shift,
    )


def _laid(
    box: Box, inner: Sequence[Measured]
) -> tuple[list[tuple[Measured, Point]], list[tuple[Way, Route, str]], float, float]:
    labels = [fitted(way.label or "", _MOST_LABEL, SMALL) for way in box.ways]
    arcs = [
        Arc(way.source, way.target, width_of(label, SMALL) + 8 if label else 0)
        for way, label in zip(box.ways, labels, strict=True)
    ]
    laid = layered([Vertex(each.box.key, each.width, each.height) for each in inner], arcs)
    placed = [(each, laid.corners[each.box.key]) for each in inner]
    return placed, list(zip(box.ways, laid.routes, labels, strict=True)), laid.width, laid.height


def _side_by_side(
    inner: Sequence[Measured],
) -> tuple[list[tuple[Measured, Point]], list[tuple[Way, Route, str]], float, float]:
    """In rows, as words in lines."""
    placed: list[tuple[Measured, Point]] = []
    x = y = row = width = 0.0
    for each in inner:
        if x and x + each.width > _SHELF:
            x, y, row = 0.0, y + row + _SHELF_GAP, 0.0
        placed.append((each, Point(x, y)))
        x, row = x + each.width + _SHELF_GAP, max(row, each.height)
        width = max(width, x - _SHELF_GAP)
    return placed, [], width, y + row


def _items_size(box: Box) -> tuple[float, float]:
    """The room that items need: one by one, or as a bar if they are many."""
    count = sum(box.tally.values())
    if not count:
        return 0.0, 0.0
    if count > CELLS_MOST:
        return max(BAR_WIDTH, width_of(counted(box), SMALL)), BAR + LINE + 6
    rows = -(-count // CELLS_ROW)
    step = CELL + CELL_GAP
    return min(count, CELLS_ROW) * step - CELL_GAP, rows * step - CELL_GAP + 8


def counted(box: Box) -> str:
    """How many items stand how, in words."""
    return " · ".join(f"{box.tally[mark]:,} {WORDS[mark]}" for mark in TALLIED if box.tally.get(mark))


def _toggle_width(box: Box) -> float:
    return _TOGGLE_GAP + width_of(box.toggle_text, SMALL) if box.toggle_text else 0.0
