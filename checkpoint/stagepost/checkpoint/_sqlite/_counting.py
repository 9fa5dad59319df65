"""How many runs there are: ranges of an index that are counted, of which only filters read more than the index."""

from collections.abc import Iterable
from typing import Final

from .._filters import CountBy, Counts
from .._records import RunStatus
from ._finding import STARTED, Filters
from ._queries import COUNT_RUNS, Query, Row
from ._ranges import Ranges, Span, Way

_STATUSES: Final = tuple(status.value for status in RunStatus)
_BY_STATUS: Final = "".join(f", coalesce(sum(status = '{status}'), 0)" for status in _STATUSES)
_OF_NAME: Final = Ranges("runs INDEXED BY runs_workflow", STARTED, "workflow = names.name", ((),))
_NAMES: Final = """
WITH RECURSIVE names (name) AS (
  SELECT min(workflow) FROM runs
  UNION ALL SELECT (SELECT min(workflow) FROM runs WHERE workflow > name) FROM names WHERE name IS NOT NULL
)
"""


def count_query(chosen: Filters, way: Way, span: Span, by: CountBy | None) -> Query:
    """What `counts_of` takes: one statement, and so as of one moment.

    Args:
        chosen: Which runs.
        way: Where they are.
        span: Of that, which part.
        by: What they are told apart by.
    """
    if by is None and chosen == Filters():
        return COUNT_RUNS
    if by == "workflow" and chosen._replace(since=None, until=None) == Filters():
        return _of_each_workflow(span)
    ranges, filters = way
    rows = ranges.table + ranges.joined if filters or by else ranges.table
    if by == "workflow":
        each = ranges.union(rows, "workflow", span, filters)
        return Query(f"SELECT workflow, count(*) FROM ({each.text}) GROUP BY 1", each.values)
    return ranges.union(rows, f"count(*){_BY_STATUS if by else ''}", span, filters)


def _of_each_workflow(span: Span) -> Query:
    """By the names that there are, each found by the one before it."""
    count = _OF_NAME.union(_OF_NAME.table, "count(*)", span, ())
    return Query(f"{_NAMES} SELECT name, ({count.text}) FROM names WHERE name IS NOT NULL", count.values)


def counts_of(rows: Iterable[Row], by: CountBy | None) -> Counts:
    """The rows of `count_query`: one for each range, or for each workflow."""
    if by == "workflow":
        named = {name: count for name, count in rows if count}
        return Counts(sum(named.values()), named)
    sums = [sum(column) for column in zip(*rows, strict=True)] or [0] * (1 + len(_STATUSES))
    return Counts(sums[0], dict(zip(_STATUSES, sums[1:], strict=True)) if by else {})
