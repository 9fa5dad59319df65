"""A run as an SVG: colours, lines and motion are classes, for the style sheet to say what they look like."""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from ._boxes import MOST, Box, Cell, Drawn, boxes_of
from ._layered._values import Point, Route
from ._marks import TALLIED, WORDS
from ._measured import (
    BAR,
    BAR_WIDTH,
    CELL,
    CELL_GAP,
    CELLS_MOST,
    CELLS_ROW,
    PAD,
    SMALL,
    Measured,
    counted,
    measured,
)
from ._outline import Kind, Way
from ._signs import sign
from ._svg import at, element, group, number
from ._text import width_of

_MARGIN: Final = 8.0


def draw_run(drawn: Drawn, *, title: str, most: int = MOST) -> Markup:
    """A run as an SVG.

    Every place is a link to its page and has a title for those who do not see it. Its size is that of its content, so
    put it where it may be scrolled. It uses the classes of ``drawing.css``.

    Args:
        drawn: The run.
        title: What the picture shows, in a line.
        most: How many places are drawn; of a larger workflow the innermost boxes stay closed, or those are drawn that
            are near where it stands.
    """
    return picture_of(boxes_of(drawn, most=most), title=title)


def picture_of(box: Box, *, title: str) -> Markup:
    """A box with all that is in it as an SVG.

    Args:
        box: It.
        title: What the picture shows, in a line.
    """
    whole = measured(box)
    width, height = whole.width + 2 * _MARGIN, whole.height + 2 * _MARGIN
    return element(
        "svg",
        element("title", title),
        _box(whole, Point(_MARGIN, _MARGIN)),
        xmlns="http://www.w3.org/2000/svg",
        class_="drawing d-graph",
        role="group",
        aria_label=title,
        width=width,
        height=height,
        viewBox=f"0 0 {number(width)} {number(height)}",
    )


def _box(shown: Measured, corner: Point) -> Markup:
    box = shown.box
    if box.kind is Kind.END:
        return element("circle", element("title", box.said), class_="d-end", cx=corner.x + 6, cy=corner.y + 6, r=5)
    parts = [_frame(shown), *_arrows(shown), *(_box(each, place) for each, place in shown.inner), *_items(shown)]
    if box.toggle_text:
        parts.append(_toggle(shown))
    shape = "d-open" if box.inner else "d-closed"
    return group(parts, class_=f"d-box {shape} d-{box.kind} is-{box.mark}", transform=at(*corner))


def _frame(shown: Measured) -> Markup:
    """The box itself with its name, as a link to its page if there is one."""
    box = shown.box
    middle = 21.5 if box.inner else 17 + 4.5
    head = [
        element("title", box.said),
        element("rect", class_="d-shape", width=shown.width, height=shown.height, rx=_rounding(box)),
        sign(box.mark, 10, middle - 10.5) if box.kind not in _UNSIGNED else None,
        _title(shown, middle),
    ]
    if box.inner and box.kind is not Kind.CHAIN:
        x = 28 + width_of(shown.title) + 8
        head.append(element("text", _KINDS.get(box.kind, box.kind.value), class_="d-kind", x=x, y=middle))
    if shown.note:
        head.append(element("text", shown.note, class_="d-note", x=28, y=middle + 16))
    if box.href is None:
        return group(head, class_="d-frame")
    return element("a", *head, class_="d-frame", id=f"place-{box.key}", href=box.href)


_KINDS: Final = {
    Kind.EACH: "for each item",
    Kind.BRANCHES: "at once",
    Kind.CONDITIONAL: "one of these",
    Kind.STEP: "its runs",
    Kind.HUB: "hub",
}


_UNSIGNED: Final = (Kind.MORE, Kind.TOPIC, Kind.GROUP, Kind.OUTSIDE)


def _title(shown: Measured, y: float) -> Markup:
    if shown.box.kind in _UNSIGNED:
        return element("text", shown.title, class_="d-name", x=shown.width / 2, y=y, text_anchor="middle")
    return element("text", shown.title, class_="d-name", x=28, y=y)


_ROUND: Final = (Kind.CHOICE, Kind.TOPIC, Kind.GROUP)


def _rounding(box: Box) -> float:
    if box.inner:
        return 12
    return 17 if box.kind in _ROUND else 8


def _toggle(shown: Measured) -> Markup:
    box = shown.box
    x = shown.width - 10
    text = element("text", box.toggle_text, class_="d-toggle", x=x, y=21.5, text_anchor="end")
    if box.toggle is None:
        return text
    label = f"{box.toggle_text}: {box.name}"
    room = width_of(box.toggle_text, SMALL)
    ground = element("rect", class_="d-ground", x=x - room - 6, y=8, width=room + 12, height=20, rx=6)
    return element("a", ground, text, id=f"toggle-{box.key}", href=box.toggle, aria_label=label)


def _arrows(shown: Measured) -> Sequence[Markup]:
    """Arrows below their labels, all from where the inside of the box begins; those that look the same are one path."""
    if not shown.arrows:
        return []
    lines: dict[tuple[str, str], list[str]] = {}
    for way, route, _ in shown.arrows:
        taken = " is-taken" if way in shown.box.busy else ""
        lines.setdefault(("d-way", taken), []).append(route.path)
        lines.setdefault(("d-tip", taken), []).append(_tip(route))
    paths = [element("path", class_=f"{kind}{taken}", d="".join(each)) for (kind, taken), each in lines.items()]
    labels = [_label(way, route, label) for way, route, label in shown.arrows if label]
    return [group([*sorted(paths), *labels], transform=at(*shown.shift))]


def _label(way: Way, route: Route, label: str) -> Markup:
    anchor = "start" if way.source == way.target else "middle"
    full = element("title", way.label) if way.label != label else None
    x, y = route.label.x, route.label.y + 4
    return element("text", full, label, class_="d-label", x=x, y=y, text_anchor=anchor)


def _tip(route: Route) -> str:
    x, y = route.tip
    if route.leads_back:
        return f"M{number(x + 7)} {number(y - 4)}L{number(x)} {number(y)}L{number(x + 7)} {number(y + 4)}Z"
    return f"M{number(x - 4)} {number(y - 7)}L{number(x)} {number(y)}L{number(x + 4)} {number(y - 7)}Z"


def _items(shown: Measured) -> Sequence[Markup]:
    box = shown.box
    count = sum(box.tally.values())
    if not count:
        return []
    left = PAD if box.inner else 10.0
    if count > CELLS_MOST:
        return [_bar(box, count, left, shown.items_top)]
    return [_cell(box, place, each, left, shown.items_top) for place, each in enumerate(box.cells)]


def _cell(box: Box, place: int, cell: Cell, left: float, top: float) -> Markup:
    step = CELL + CELL_GAP
    x, y = left + place % CELLS_ROW * step, top + place // CELLS_ROW * step
    said = f"{box.name}[{cell.number}]: {WORDS[cell.mark]}"
    shape = element("rect", class_="d-shape", x=x, y=y, width=CELL, height=CELL, rx=2.5)
    classes = f"d-cell is-{cell.mark}{' is-open' if cell.is_open else ''}"
    if cell.href is None:
        return group([element("title", said), shape], class_=classes)
    key = f"item-{box.key}[{cell.number}]"
    return element("a", element("title", said), shape, class_=classes, id=key, href=cell.href)


def _bar(box: Box, count: int, left: float, top: float) -> Markup:
    """How many items stand how, side by side; each that there is can be seen."""
    parts, x = [], left
    tally = [(mark, box.tally[mark]) for mark in TALLIED if box.tally.get(mark)]
    least = 3.0
    room = BAR_WIDTH - least * len(tally)
    for mark, found in tally:
        width = least + room * found / count
        part = element("rect", class_="d-shape", x=x, y=top, width=width, height=BAR)
        parts.append(group([element("title", f"{found:,} {WORDS[mark]}"), part], class_=f"d-cell is-{mark}"))
        x += width
    words = element("text", counted(box), class_="d-note", x=left, y=top + BAR + 14)
    return group([*parts, words], class_="d-bar")
