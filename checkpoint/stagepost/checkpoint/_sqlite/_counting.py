"""How many runs there are: ranges of an index that are counted, of which only filters read more than the index."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from .._filters import CountBy, Counts
from .._records import RunStatus
from ._finding import OF_STATUS, STARTED, Filters
from ._queries import COUNT_RUNS, Query, Row
from ._ranges import Filter, Position, Ranges, Span, Way

_STATUSES: Final = tuple(status.value for status in RunStatus)
_REST: Final = RunStatus.COMPLETED.value  # most are, so that these are what is left of all
_OTHERS: Final = tuple(status for status in _STATUSES if status != _REST)
_BY_STATUS: Final = "".join(f", coalesce(sum(status = '{status}'), 0)" for status in _OTHERS)
_OF_NAME: Final = Ranges("runs INDEXED BY runs_workflow", STARTED, "workflow = names.name", ((),))
_NAMES: Final = """
WITH RECURSIVE names (name) AS (
  SELECT min(workflow) FROM runs
  UNION ALL SELECT (SELECT min(workflow) FROM runs WHERE workflow > name) FROM names WHERE name IS NOT NULL
)
"""


def counted(chosen: Filters, by: CountBy | None) -> Filters:
    """The same runs, so that the index that has both can be counted: of a workflow, by status."""
    if by == "status" and chosen.status is None and chosen.workflow is not None:
        return chosen._replace(status=tuple(RunStatus))
    return chosen


def way_of(ways: Sequence[Way], way: Way, last: Position | None) -> Way:
    """Which way to count: one of few runs, or else one that an index tells, or the one that seems to have the fewest.

    Args:
        ways: All there are.
        way: The one that gets farthest with a page.
        last: Where it gets to; None if that is the end.
    """
    told = (each for each in ways if each.ranges.condition == OF_STATUS and all(map(_is_told, each.filters)))
    return way if last is None else next(told, way)


def _is_told(filter_: Filter) -> bool:
    """Whether the index of statuses knows it."""
    return filter_.text.startswith("workflow ")


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
        return Query(f"SELECT count(*), workflow FROM ({each.text}) GROUP BY 2", each.values)
    if by is None:
        return ranges.union(rows, "count(*)", span, filters)
    is_told = ranges.condition == OF_STATUS  # by the range
    return ranges.union(rows, "count(*), status" if is_told else f"count(*){_BY_STATUS}", span, filters)


def _of_each_workflow(span: Span) -> Query:
    """By the names that there are, each found by the one before it."""
    count = _OF_NAME.union(_OF_NAME.table, "count(*)", span, ())
    return Query(f"{_NAMES} SELECT ({count.text}), name FROM names WHERE name IS NOT NULL", count.values)


def counts_of(rows: Iterable[Row], by: CountBy | None) -> Counts:
    """The rows of `count_query`: one for each range, or for each workflow."""
    counts = [Counts(count, _told(count, about, by)) for count, *about in rows]
    by_name = Counter[str](dict.fromkeys(_STATUSES, 0) if by == "status" else {})
    for one in counts:
        by_name.update(one.by)
    return Counts(sum(one.total for one in counts), dict(by_name))


def _told(count: int, about: Sequence[Any], by: CountBy | None) -> Mapping[str, int]:
    """What one row says of what runs are told apart by: to what it all belongs, or of each status but one how many."""
    if by == "status" and len(about) == len(_OTHERS):
        return {**dict(zip(_OTHERS, about, strict=True)), _REST: count - sum(about)}
    return {about[0]: count} if about and count else {}
