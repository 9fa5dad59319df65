"""Pages of rows in the order of an index, whatever else the rows have to be.

A page is one range of an index, or a few that SQLite merges (one for each status, say), so nothing is sorted, and
nothing is read that comes before the page. Where rows also have to be something that the index does not know, a page
ends after so many rows were looked at, with what was found among them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from stagepost._dataclasses import dataclass

from ._queries import Query, Row, as_bytes, as_text

LOOKS: Final = 20_000  # rows that are looked at for one page
Position: TypeAlias = tuple[int | bytes, ...]  # of a row: its values in the columns of the order


class Filter(NamedTuple):
    """A condition, and the values bound to it."""

    text: str
    values: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Where the rows of a page can be.

    Attributes:
        lower: Only after this position.
        upper: Only before this one.
        newest_first: Whether they come in falling order.
    """

    lower: Position | None = None
    upper: Position | None = None
    newest_first: bool = False

    def above(self, lower: Position) -> "Span":
        """What of it lies above a position."""
        return self if self.lower is not None and self.lower >= lower else replace(self, lower=lower)

    def below(self, upper: Position) -> "Span":
        """What of it lies below a position."""
        return self if self.upper is not None and self.upper <= upper else replace(self, upper=upper)

    def after(self, position: Position) -> "Span":
        """What of it follows a position."""
        return self.below(position) if self.newest_first else self.above(position)

    def up_to(self, position: Position) -> "Span":
        """What of it precedes a position, and the row there."""
        *head, last = position
        if isinstance(last, bytes):
            return self.below((*head, last + b"\0"))
        return self.above((*head, last - 1)) if self.newest_first else self.below((*head, last + 1))


class Ranges(NamedTuple):
    """Ranges of one index that have the same order.

    Attributes:
        table: The table, with the index.
        order: The columns of the order.
        condition: What all rows of a range have in common: that columns are equal to some values.
        values: The values of each range.
        joined: What else the columns and filters of a page are about.
    """

    table: str
    order: tuple[str, ...]
    condition: str
    values: tuple[tuple[str, ...], ...]
    joined: str = ""

    def farthest(self, span: Span) -> Query:
        """The position of the last row that is looked at for a page; no row if all may be looked at."""
        text, values = self._merged(self.table, ", ".join(self.order), span, ())
        return Query(f"{text} LIMIT 1 OFFSET ?", (*values, LOOKS - 1))

    def page(self, columns: str, span: Span, filters: Sequence[Filter], limit: int) -> Query:
        """The first rows of a span that pass the filters: their position, then the columns."""
        text, values = self._merged(self.table + self.joined, f"{', '.join(self.order)}, {columns}", span, filters)
        return Query(f"{text} LIMIT ?", (*values, limit))

    def _merged(
        self, rows: str, columns: str, span: Span, filters: Sequence[Filter]
    ) -> tuple[str, tuple[str | int | bytes, ...]]:
        conditions = [self.condition]
        bound: list[str | int | bytes] = []
        for sign, position in ((">", span.lower), ("<", span.upper)):
            if position is not None:
                marks = ", ".join("CAST(? AS TEXT)" if isinstance(part, bytes) else "?" for part in position)
                conditions.append(f"({', '.join(self.order)}) {sign} ({marks})")
                bound += position
        for filter_ in filters:
            conditions.append(filter_.text)
            bound += filter_.values
        one = f"SELECT {columns} FROM {rows} WHERE {' AND '.join(conditions)}"
        direction = " DESC" if span.newest_first else ""
        order = ", ".join(f"{number}{direction}" for number in range(1, len(self.order) + 1))
        text = f"{' UNION ALL '.join([one] * len(self.values))} ORDER BY {order}"
        return text, tuple(part for values in self.values for part in (*values, *bound))


class Way(NamedTuple):
    """One way to a page.

    Attributes:
        ranges: Where all its rows are.
        filters: What they have to be, beside being there.
    """

    ranges: Ranges
    filters: Sequence[Filter]


class Search(NamedTuple):
    """What a page is to have.

    Attributes:
        columns: What is wanted of each row.
        span: Where the rows are.
        ways: Any of them leads to the page.
    """

    columns: str
    span: Span
    ways: Sequence[Way]


def position(row: Row) -> Position:
    """The position that a row says."""
    return tuple(as_bytes(part) if isinstance(part, str) else part for part in row)


def cursor(at: Position) -> str:
    """The position as text."""
    return ".".join(as_text(part) if isinstance(part, bytes) else str(part) for part in at)
