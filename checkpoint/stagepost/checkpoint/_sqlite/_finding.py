"""How runs are found, and the waits that are open: which ranges of which index have them."""

from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from .._records import RunStatus
from .._waiting import WaitKind
from ._queries import RUN_COLUMNS, WAIT_COLUMNS, as_bytes
from ._ranges import Filter, Position, Ranges, Search, Span, Way
from ._rows import to_micros

_STARTED: Final = ("created_at", "rk")
_WAIT: Final = f"id, run_id, workflow, version, blocked, {WAIT_COLUMNS}"
_LABELLED: Final = Ranges(
    "labels INDEXED BY labels_value",
    ("labels.created_at", "labels.rk"),
    "labels.name = ? AND labels.value = ?",
    (),
    " CROSS JOIN runs ON runs.rk = labels.rk",
)
_HAS_LABEL: Final = "EXISTS (SELECT 1 FROM labels AS l WHERE l.rk = runs.rk AND l.name = ? AND l.value = ?)"
_OF_OPEN_RUN: Final = Filter("runs.status IN ('running', 'waiting')", ())


class Filters(NamedTuple):
    """Which runs are looked for; see `CheckpointStore.find`."""

    status: RunStatus | Collection[RunStatus] | None = None
    workflow: str | None = None
    key: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    below: str | None = None
    labels: Mapping[str, str] = MappingProxyType({})


def search_runs(chosen: Filters, after: str | None, *, newest_first: bool) -> Search:
    """Runs in the order in which they were started; those below another one in the order of their ids."""
    if chosen.below is not None:
        return _search_below(chosen, chosen.below, after, newest_first=newest_first)
    span = Span(newest_first=newest_first)
    if chosen.since is not None:
        span = span.above((to_micros(chosen.since.timestamp()), 0))  # rk begins at 1
    if chosen.until is not None:
        span = span.below((to_micros(chosen.until.timestamp()), 0))
    if after:
        span = span.after(_started(after))
    return Search(RUN_COLUMNS, span, _ways(chosen))


def _search_below(chosen: Filters, run_id: str, after: str | None, *, newest_first: bool) -> Search:
    span = _span_below(run_id, newest_first=newest_first)
    if after:
        span = span.after((as_bytes(after),))
    filters = [_is_one_of(column, values) for column, values in _equal(chosen).items()]
    filters += [Filter(_HAS_LABEL, label) for label in chosen.labels.items()]
    for sign, time in ((">=", chosen.since), ("<", chosen.until)):
        if time is not None:
            filters.append(Filter(f"created_at {sign} ?", (to_micros(time.timestamp()),)))
    is_possible = chosen.status is None or bool(_statuses(chosen.status))
    ranges = Ranges("runs", ("run_id",), "run_id > ?", ((f"{run_id}.",),) if is_possible else ())
    return Search(RUN_COLUMNS, span, [Way(ranges, filters)])


def _span_below(run_id: str, *, newest_first: bool = False) -> Span:
    """The ids of the runs below one: they begin with its id and a dot."""
    return Span(newest_first=newest_first).above((as_bytes(f"{run_id}."),)).below((as_bytes(f"{run_id}/"),))


def search_free(owner: int, after: str | None) -> Search:
    """Running runs that only one owner can have, and has not."""
    ranges = Ranges("runs INDEXED BY runs_status", _STARTED, "status = ?", ((RunStatus.RUNNING.value,),))
    span = Span().after(_started(after)) if after else Span()
    return Search(RUN_COLUMNS, span, [Way(ranges, [Filter("owner IS NOT ?", (owner,))])])


def _ways(chosen: Filters) -> list[Way]:
    """By each thing that is asked for, with filters for the others; by all statuses if nothing is."""
    equal = _equal(chosen)
    if not (equal or chosen.labels):
        equal["status"] = _statuses(None)
    asked = [
        (
            Ranges(f"runs INDEXED BY runs_{column}", _STARTED, f"{column} = ?", tuple((value,) for value in values)),
            _is_one_of(column, values),
        )
        for column, values in equal.items()
    ]
    asked += [(_LABELLED._replace(values=(label,)), Filter(_HAS_LABEL, label)) for label in chosen.labels.items()]
    return [Way(ranges, [filter_ for other, filter_ in asked if other is not ranges]) for ranges, _ in asked]


def _equal(chosen: Filters) -> dict[str, tuple[str, ...]]:
    """Which columns have to be one of which values."""
    equal: dict[str, tuple[str, ...]] = {}
    if chosen.key is not None:
        equal["key"] = (chosen.key,)
    if chosen.workflow is not None:
        equal["workflow"] = (chosen.workflow,)
    if chosen.status is not None:
        equal["status"] = _statuses(chosen.status)
    return equal


def _statuses(chosen: RunStatus | Collection[RunStatus] | None) -> tuple[str, ...]:
    if chosen is None:
        return tuple(status.value for status in RunStatus)
    return tuple({RunStatus(status).value: None for status in ([chosen] if isinstance(chosen, str) else chosen)})


def _is_one_of(column: str, values: tuple[str, ...]) -> Filter:
    return Filter(f"{column} IN ({', '.join('?' * len(values))})", values)


def _started(after: str) -> Position:
    """The position that a cursor names."""
    micros, _, row = after.partition(".")
    try:
        return int(micros), int(row)
    except ValueError:
        raise ValueError(f"after={after!r} is no place among runs: give the next of the page before") from None


def search_waits(run_id: str | None, below: str | None, kind: WaitKind | None, after: str | None) -> Search:
    """Open waits in the order of their ids, in which those of one run, or below one, follow each other."""
    span = Span(lower=(as_bytes(after),)) if after else Span()
    prefixes = [f"{run_id}/"] if run_id is not None else []
    prefixes += [f"{below}."] if below is not None else []
    for prefix in prefixes:
        following = f"{prefix[:-1]}{chr(ord(prefix[-1]) + 1)}"
        span = span.above((as_bytes(prefix),)).below((as_bytes(following),))
    kinds = tuple(WaitKind) if kind is None else (WaitKind(kind),)
    ranges = Ranges(
        "waits INDEXED BY waits_open",
        ("id",),
        "waits.status = 'open' AND kind = ?",
        tuple((each.value,) for each in kinds),
        " CROSS JOIN runs USING (rk)",
    )
    return Search(_WAIT, span, [Way(ranges, [_OF_OPEN_RUN])])
