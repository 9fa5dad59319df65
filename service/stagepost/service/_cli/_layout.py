"""Columns of text that fit a width."""

from collections.abc import Sequence
from dataclasses import field

from rich.cells import cell_len
from rich.text import Text

from stagepost._dataclasses import dataclass

_GAP = 2
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: What is above it.
        cells: One for each row.
        least: How narrow it may become where there is no room; None: it is never shortened.
    """

    title: str
    cells: Sequence[Text] = field(default_factory=tuple)
    least: int | None = None

    @property
    def width(self) -> int:
        """What it takes to show all of it."""
        return max((cell_len(self.title), *(cell.cell_len for cell in self.cells)))


def lines(columns: Sequence[Column], width: int | None, *, indent: int = 0) -> list[Text]:
    """A table: a line of titles, and one for each row.

    Args:
        columns: The columns; those without content are left out.
        width: How wide the lines may be; None for as wide as they are.
        indent: Spaces before each.
    """
    shown = [column for column in columns if any(cell.plain for cell in column.cells)]
    if not shown:
        return []
    widths = fitted([column.width for column in shown], [column.least for column in shown], width, indent)
    titles = _line([Text(column.title, style="dim") for column in shown], widths, indent)
    rows = zip(*(column.cells for column in shown), strict=True)
    return [titles, *(_line(row, widths, indent) for row in rows)]


def fitted(wanted: Sequence[int], least: Sequence[int | None], width: int | None, indent: int = 0) -> list[int]:
    """The widths of columns: those that may be shortened are, the widest first, until all fit."""
    widths = list(wanted)
    if width is None:
        return widths
    room = width - indent - _GAP * (len(widths) - 1)
    while sum(widths) > room:
        narrowable = [index for index, limit in enumerate(least) if limit is not None and widths[index] > limit]
        if not narrowable:
            break
        widths[max(narrowable, key=widths.__getitem__)] -= 1
    return widths


def cut(text: Text, width: int | None) -> Text:
    """A text in at most so many cells; None for all of it."""
    if width is None or text.cell_len <= width:
        return text
    shorter = text.copy()
    shorter.truncate(width, overflow="ellipsis")
    return shorter


def _line(cells: Sequence[Text], widths: Sequence[int], indent: int) -> Text:
    line = Text(" " * indent)
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        shown = cut(cell, width)
        line.append_text(shown)
        if place < len(cells) - 1:
            line.append(" " * (width - shown.cell_len + _GAP))
    line.rstrip()
    return line
