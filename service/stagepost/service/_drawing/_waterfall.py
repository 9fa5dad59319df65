"""The times of a run as an SVG that is as wide as its room: lengths are percents, and texts keep their size."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from markupsafe import Markup

from ._durations import duration
from ._marks import WORDS
from ._scale import Scale, scale_of
from ._signs import sign
from ._svg import at, element, group, number
from ._text import fitted, width_of
from ._timeline import Row, RowKind, Span, united

_AXIS: Final = 26.0
_ROW: Final = 40.0
_INDENT: Final = 14.0
_BAR: Final = 10.0
_NARROW: Final = 340.0  # what a narrow screen has for a name and its times together
_LEAST_NAME: Final = 90.0
_SAID: Final = 300  # letters of a name
_FINEST: Final = 0.1  # percent: spans closer than that are drawn as one


def draw_waterfall(
    rows: Sequence[Row], *, title: str, now: float, address: Callable[[Row], str | None] = lambda _: None
) -> Markup:
    """When each place of a run worked, and when it waited.

    Pauses in which nothing works are cut short, and say how long they are. It uses the classes of ``drawing.css``.

    Args:
        rows: From `timeline`.
        title: What the picture shows, in a line.
        now: Its end, in Unix seconds, if something is under way.
        address: Address of the page of a row's place; None if there is none.
    """
    spans = [span for row in rows for span in row.spans]
    begin = min((span.begin for span in spans), default=now)
    end = max((span.end for span in spans), default=now)
    scale = scale_of((span for row in rows for span in row.work), begin, end)
    height = _AXIS + _ROW * len(rows)
    return element(
        "svg",
        element("title", title),
        _grid(scale, height),
        *(_row(row, _AXIS + place * _ROW, scale, address(row)) for place, row in enumerate(rows)),
        xmlns="http://www.w3.org/2000/svg",
        class_="drawing d-waterfall",
        role="group",
        aria_label=title,
        width="100%",
        height=height,
    )


def _grid(scale: Scale, height: float) -> Markup:
    parts: list[Markup] = []
    for place, text in scale.ticks():
        x = f"{number(place)}%"
        parts.append(element("line", class_="d-rule", x1=x, x2=x, y1=_AXIS - 6, y2=height))
        anchor = "start" if place < 3 else "end" if place > 97 else "middle"  # noqa: PLR2004  # percent
        parts.append(element("text", text, class_="d-note", x=x, y=12, text_anchor=anchor))
    for each in scale.stretches:
        if each.is_cut:
            said = element("title", f"{duration(each.end - each.begin)} without work")
            x, width = f"{number(each.at)}%", f"{number(each.width)}%"
            ground = element("rect", class_="d-cut", x=x, y=_AXIS - 6, width=width, height=height - _AXIS + 6)
            is_last = each.at + each.width > 97  # noqa: PLR2004  # percent
            middle = f"{number(100.0 if is_last else each.at + each.width / 2)}%"
            length = " ".join(duration(each.end - each.begin).split(" ")[:2])
            anchor = "end" if is_last else "middle"
            words = element("text", f"↔ {length}", class_="d-note", x=middle, y=12, text_anchor=anchor)
            parts.append(group([said, ground, words]))
    return group(parts, class_="d-grid")


def _row(row: Row, top: float, scale: Scale, href: str | None) -> Markup:
    left = min(row.depth, 6) * _INDENT
    times = _times(row)
    said = f"{row.kind} {_name(row)[:_SAID]}: {WORDS[row.mark]}, {times}"
    name = fitted(_name(row), max(_LEAST_NAME, _NARROW - left - 30 - width_of(times, 11)))
    label = [
        element("title", said),
        element("rect", class_="d-ground", x=left - 2, y=0, width=width_of(name) + 28, height=20, rx=6),
        sign(row.mark, left + 2, 4) if row.kind is not RowKind.MORE else None,
        element("text", name, class_="d-name", x=left + 20, y=14),
    ]
    if href is None:
        shown = group(label, class_="d-frame")
    else:
        shown = element("a", *label, class_="d-frame", id=f"row-{row.path}", href=href)
    length = element("text", times, class_="d-note", x="100%", y=14, text_anchor="end")
    bars = group(_bars(row, scale), class_="d-bars")
    return group([shown, length, bars], class_=f"d-row d-{row.kind} is-{row.mark}", transform=at(0, top))


def _name(row: Row) -> str:
    return f"{row.name} ({row.count:,})" if row.kind is RowKind.ITEMS else row.name


def _times(row: Row) -> str:
    work = sum(span.seconds for span in united(row.work))
    waited = sum(span.seconds for span in united(row.waits))
    found = [duration(work)] if row.work else []
    if waited:
        found.append(f"{duration(waited)} waiting")
    if row.tries:
        found.append(f"{len(row.tries) + 1} tries")
    elif len(row.work) > 1 and not waited and row.kind is RowKind.PLACE:
        found.append(f"{len(row.work)} times")
    return " · ".join(found)


def _bars(row: Row, scale: Scale) -> Iterator[Markup]:
    for span in united(row.waits, _finest(scale)):
        yield _bar(span, scale, "d-wait", y=25.5, height=5, words="waiting")
    for span in _apart(row.work, scale):
        yield _bar(span, scale, f"d-work is-{span.mark}", y=23, height=_BAR, words=WORDS[span.mark])
    for time in row.tries[:100]:
        x = f"{number(scale.at(time))}%"
        yield element("line", element("title", "a try has failed"), class_="d-try", x1=x, x2=x, y1=20, y2=36)


def _bar(span: Span, scale: Scale, class_: str, *, y: float, height: float, words: str) -> Markup:
    begin, end = scale.at(span.begin), scale.at(span.end)
    said = element("title", f"{words}: {duration(span.seconds)}")
    x, width = f"{begin:.2f}%", f"{max(end - begin, 0.0):.2f}%"
    return element("rect", said, class_=class_, x=x, y=y, width=width, height=height, rx=2)


def _apart(spans: Sequence[Span], scale: Scale) -> Sequence[Span]:
    """Spans as they are, unless so many are so close that one sees no difference."""
    return united(spans, _finest(scale)) if len(spans) > 100 else sorted(spans)  # noqa: PLR2004


def _finest(scale: Scale) -> float:
    work = sum(each.end - each.begin for each in scale.stretches if not each.is_cut)
    return work * _FINEST / 100
