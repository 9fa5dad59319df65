"""How runs are found, and the waits that are open: which ranges of which index have them."""

from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from .._records import RunStatus
from .._waiting import WaitKind
from ._error_words import match_of
from ._queries import RUN_COLUMNS, WAIT_COLUMNS, Query, as_bytes, as_number
from ._ranges import Filter, Position, Ranges, Search, Span, Turn, Way
from ._rows import to_micros

STARTED: Final = ("created_at", "rk")
OF_STATUS: Final = "status = ?"
_WAIT: Final = f"id, run_id, workflow, version, blocked, {WAIT_COLUMNS}"
_LABELLED: Final = Ranges(
    "labels INDEXED BY labels_value",
    ("labels.created_at", "labels.rk"),
    "labels.name = ? AND labels.value = ?",
    (),
    " CROSS JOIN runs ON runs.rk = labels.rk",
)
_ENDED: Final = Ranges("runs INDEXED BY runs_ended", ("finished_at", "rk"), "finished_at IS NOT NULL", ((),))
_BELOW: Final = Ranges("runs INDEXED BY sqlite_autoindex_runs_1", ("run_id",), "true", ((),))  # the one of run_id
_SAID: Final = Ranges(
    "failures", ("failures.rowid",), "failures MATCH ?", (), " CROSS JOIN runs ON runs.rk = failures.rowid"
)
_HAS_LABEL: Final = "EXISTS (SELECT 1 FROM labels AS l WHERE l.rk = runs.rk AND l.name = ? AND l.value = ?)"
_OF_OPEN_RUN: Final = Filter("runs.status IN ('running', 'waiting')", ())


class Filters(NamedTuple):
    """Which runs are looked for; see `RunFilters`."""

    status: RunStatus | Collection[RunStatus] | None = None
    workflow: str | None = None
    key: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    ended_since: datetime | None = None
    ended_until: datetime | None = None
    below: str | None = None
    forked_from: str | None = None
    labels: Mapping[str, str] = MappingProxyType({})
    text: str | None = None

    @property
    def are_void(self) -> bool:
        """Whether no run can pass them: no status is right, or no word was given."""
        return (self.status is not None and not _statuses(self.status)) or (self.text is not None and not self.match)

    @property
    def match(self) -> str:
        """The words as the index of errors takes them; nothing if there are none."""
        return match_of(self.text or "")

    @property
    def started(self) -> tuple[datetime | None, datetime | None]:
        """When they were started: from when on, and before when."""
        return self.since, self.until

    @property
    def ended(self) -> tuple[datetime | None, datetime | None]:
        """When they have ended."""
        return self.ended_since, self.ended_until


def search_runs(chosen: Filters, turn: Turn) -> Search:
    """Runs in the order in which they were started, unless what they are found by has another one."""
    if chosen.text is not None:
        found = _SAID._replace(values=((chosen.match,),))
        return Search(RUN_COLUMNS, turn.span(_number), [Way(found, _filters(chosen._replace(text=None)))])
    if chosen.below is not None:
        span = _within(turn.span(_id), chosen.below)
        return Search(RUN_COLUMNS, span, [Way(_BELOW, _filters(chosen._replace(below=None)))])
    if chosen.ended != (None, None):
        span = _between(turn.span(_moment), *chosen.ended)
        others = chosen._replace(ended_since=None, ended_until=None)
        return Search(RUN_COLUMNS, span, [Way(_ENDED, _filters(others))])
    span = _between(turn.span(_moment), *chosen.started)
    return Search(RUN_COLUMNS, span, _ways(chosen._replace(since=None, until=None)))


def stored_query(after: str | None, limit: int) -> Query:
    """Runs in the order in which they were stored, each with its number in it."""
    position = _number(after) if after else (0,)
    return Query(f"SELECT rk, {RUN_COLUMNS} FROM runs WHERE rk > ? ORDER BY rk LIMIT ?", (*position, limit))


def _within(span: Span, run_id: str) -> Span:
    """The ids of the runs below one: they begin with its id and a dot."""
    return span.above((as_bytes(f"{run_id}."),)).below((as_bytes(f"{run_id}/"),))


def _between(span: Span, since: datetime | None, until: datetime | None) -> Span:
    if since is not None:
        span = span.above((to_micros(since.timestamp()), 0))  # rk begins at 1
    return span if until is None else span.below((to_micros(until.timestamp()), 0))


def _filters(chosen: Filters) -> list[Filter]:
    """What runs have to be, as conditions."""
    filters = [_is_one_of(column, values) for column, values in _equal(chosen).items()]
    filters += [Filter(_HAS_LABEL, label) for label in chosen.labels.items()]
    for column, (since, until) in (("runs.created_at", chosen.started), ("finished_at", chosen.ended)):
        for sign, time in ((">=", since), ("<", until)):
            if time is not None:
                filters.append(Filter(f"{column} {sign} ?", (to_micros(time.timestamp()),)))
    if chosen.below is not None:
        filters.append(Filter("run_id > ? AND run_id < ?", (f"{chosen.below}.", f"{chosen.below}/")))
    return filters


def search_free(owner: int, turn: Turn) -> Search:
    """Running runs that only one owner can have, and has not."""
    ranges = Ranges("runs INDEXED BY runs_status", STARTED, OF_STATUS, ((RunStatus.RUNNING.value,),))
    return Search(RUN_COLUMNS, turn.span(_moment), [Way(ranges, [Filter("owner IS NOT ?", (owner,))])])


def _ways(chosen: Filters) -> list[Way]:
    """By each thing that is asked for, with filters for the others; by all statuses if nothing is."""
    equal = _equal(chosen)
    if not (equal or chosen.labels):
        equal["status"] = _statuses(None)
    asked = [
        (
            Ranges(f"runs INDEXED BY runs_{column}", STARTED, f"{column} = ?", tuple((value,) for value in values)),
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
    if chosen.forked_from is not None:
        equal["forked_from"] = (chosen.forked_from,)
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


def _moment(cursor: str) -> Position:
    """The position that a cursor names, in the order of times."""
    micros, _, row = cursor.partition(".")
    try:
        return as_number(micros), as_number(row)
    except ValueError:
        raise _no_place(cursor) from None


def _number(cursor: str) -> Position:
    """The position that a cursor names, in the order in which runs were stored."""
    try:
        return (as_number(cursor),)
    except ValueError:
        raise _no_place(cursor) from None


def _no_place(cursor: str) -> ValueError:
    return ValueError(f"{cursor!r} is no place among these runs: give next or previous of a page with the same filters")


def _id(cursor: str) -> Position:
    return (as_bytes(cursor),)


def search_waits(run_id: str | None, below: str | None, kind: WaitKind | None, turn: Turn) -> Search:
    """Open waits in the order of their ids, in which those of one run, or below one, follow each other."""
    span = turn.span(_id)
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
