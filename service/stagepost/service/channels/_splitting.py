"""A text as parts that are short enough, with markers that count: ``(1/3)``."""

from collections.abc import Sequence
from typing import Final

from stagepost._dataclasses import dataclass

from ._boundaries import Boundaries, Boundary, Cut
from ._flow import Flow

_ORDERS: Final[dict[str, Sequence[Boundary]]] = {
    "paragraph": ("paragraph", "line", "sentence", "word"),
    "sentence": ("sentence", "word"),
}
_DIGITS: Final = (1, 2, 3, 4, 5, 6, 7)
_LEAST: Final = 4  # a natural boundary leaves a part at least a quarter full


@dataclass(frozen=True, slots=True)
class Marked:
    """A part of a text.

    Attributes:
        text: With its marker.
        marker: Such as ``(1/3)``; None if the text has one part.
    """

    text: str
    marker: str | None = None


def split(flow: Flow, limit: int | None, *, at: str) -> Sequence[Marked]:
    """Split a text.

    Args:
        flow: The text, and what stays whole of it.
        limit: Characters of a part, its marker included; None for no limit.
        at: Where it is cut if possible: ``"sentence"`` or ``"paragraph"``.

    Returns:
        The parts in order: at the boundary if it leaves a part at least a quarter full, or else between words, or else
        between graphemes. The number of parts is known before they are marked, so that the width of markers is.
    """
    if limit is None or len(flow.text) <= limit:
        return [Marked(flow.text)]
    boundaries = Boundaries(flow)
    parts: Sequence[str] = ()
    for digits in _DIGITS:
        parts = _parts(flow, boundaries, limit - len(" (/)") - 2 * digits, _ORDERS[at])
        if len(str(len(parts))) <= digits:
            break
    markers = [f"({number}/{len(parts)})" for number in range(1, len(parts) + 1)]
    return [Marked(f"{part} {marker}", marker) for part, marker in zip(parts, markers, strict=True)]


def beginning(flow: Flow, limit: int) -> str:
    """The beginning of a text, cut as `split` cuts at sentences.

    Args:
        flow: The text.
        limit: The most characters.
    """
    if len(flow.text) <= limit:
        return flow.text
    return flow.text[: _cut(flow, Boundaries(flow), 0, limit, _ORDERS["sentence"]).end].rstrip()


def _parts(flow: Flow, boundaries: Boundaries, room: int, order: Sequence[Boundary]) -> Sequence[str]:
    parts: list[str] = []
    start = 0
    while len(flow.text) - start > room:
        cut = _cut(flow, boundaries, start, room, order)
        parts.append(flow.text[start : cut.end].rstrip())
        start = cut.next
    parts.append(flow.text[start:])
    return [part for part in parts if part.strip()]


def _cut(flow: Flow, boundaries: Boundaries, start: int, room: int, order: Sequence[Boundary]) -> Cut:
    until = min(start + room, len(flow.text))
    for kind in order:
        cut = boundaries.last(kind, start + room // _LEAST, until)
        if cut is not None:
            return cut
    return boundaries.last("word", start, until) or boundaries.hard(start, until)
