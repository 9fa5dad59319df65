"""Pages of rows in the order of an index, whatever else the rows have to be.

A page is one range of an index, or a few that SQLite merges (one for each status, say), so nothing is sorted, and
nothing is read that comes before the page. Where rows also have to be something that the index does not know, a page
ends after so many rows were looked at, with what was found among them.
"""

from collections.abc import Callable, Sequence
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


class Bound(NamedTuple):
    """Where rows begin or end.

    Attributes:
        position: The place.
        is_included: Whether a row at this place is one of them.
    """

    position: Position
    is_included: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """Where the rows of a page can be.

    Attributes:
        lower: Only from here on.
        upper: Only up to here.
        newest_first: Whether they come in falling order.
    """

    lower: Bound | None = None
    upper: Bound | None = None
    newest_first: bool = False

    def above(self, position: Position, *, included: bool = False) -> "Span":
        """What of it lies above a position."""
        bound, mine = Bound(position, included), self.lower
        if mine is not None and (mine.position, not mine.is_included) >= (position, not included):
            return self
        return replace(self, lower=bound)

    def below(self, position: Position, *, included: bool = False) -> "Span":
        """What of it lies below a position."""
        bound, mine = Bound(position, included), self.upper
        return self if mine is not None and mine <= bound else replace(self, upper=bound)

    def after(self, position: Position) -> "Span":
        """What of it follows a position."""
        return self.below(position) if self.newest_first else self.above(position)

    def up_to(self, position: Position, *, included: bool = True) -> "Span":
        """What of it precedes a position, and the row there."""
        if self.newest_first:
            return self.above(position, included=included)
        return self.below(position, included=included)

    def backwards(self) -> "Span":
        """It in the other order."""
        return replace(self, newest_first=not self.newest_first)


@dataclass(frozen=True, slots=True)
class Turn:
    """Which page of a span is wanted: the first one, the one after a cursor, or the one before.

    Attributes:
        newest_first: Whether the rows come in falling order.
        after: `Page.next` of another page.
        before: `Page.previous` of another page. A cursor is where one page ends and the next one begins: the row there
            is the last one before it.
    """

    newest_first: bool = False
    after: str | None = None
    before: str | None = None

    def span(self, read: Callable[[str], Position]) -> Span:
        """Where the rows of the page can be.

        Args:
            read: The position that a cursor names.

        Raises:
            ValueError: There are two cursors.
        """
        if self.after and self.before:
            raise ValueError("after= and before= are given: a page comes after one place or before one")
        span = Span(newest_first=self.newest_first)
        if self.after:
            return span.after(read(self.after))
        return span.up_to(read(self.before)) if self.before else span


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
        rows = self._merged(self.table, ", ".join(self.order), span, ())
        return Query(f"{rows.text} LIMIT 1 OFFSET ?", (*rows.values, LOOKS - 1))

    def page(self, columns: str, span: Span, filters: Sequence[Filter], limit: int) -> Query:
        """The first rows of a span that pass the filters: their position, then the columns."""
        rows = self._merged(self.table + self.joined, f"{', '.join(self.order)}, {columns}", span, filters)
        return Query(f"{rows.text} LIMIT ?", (*rows.values, limit))

    def _merged(self, rows: str, columns: str, span: Span, filters: Sequence[Filter]) -> Query:
        direction = " DESC" if span.newest_first else ""
        order = ", ".join(f"{number}{direction}" for number in range(1, len(self.order) + 1))
        union = self.union(rows, columns, span, filters)
        return Query(f"{union.text} ORDER BY {order}", union.values)

    def union(self, rows: str, columns: str, span: Span, filters: Sequence[Filter]) -> Query:
        """Rows of a span that pass the filters, of all ranges, in whatever order."""
        conditions = [self.condition]
        values: list[str | int | bytes] = []
        for sign, bound in ((">", span.lower), ("<", span.upper)):
            if bound is not None:
                marks = ", ".join("CAST(? AS TEXT)" if isinstance(part, bytes) else "?" for part in bound.position)
                equal = "=" if bound.is_included else ""
                conditions.append(f"({', '.join(self.order)}) {sign}{equal} ({marks})")
                values += bound.position
        for filter_ in filters:
            conditions.append(filter_.text)
            values += filter_.values
        one = f"SELECT {columns} FROM {rows} WHERE {' AND '.join(conditions)}"
        text = " UNION ALL ".join([one] * len(self.values))
        return Query(text, tuple(part for own in self.values for part in (*own, *values)))


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
