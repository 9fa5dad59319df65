"""When the places of a run worked and waited, as rows."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import AttemptOutcome, ChildRun, RunStatus
from stagepost.workflows import AttemptEntry, HistoryEntry, WaitEntry

from ._marks import Mark, strongest

_NUMBERS: Final = re.compile(r"\[\d+\]")
MOST_ROWS: Final = 200
_OUTCOMES: Final[Mapping[AttemptOutcome | None, Mark]] = {
    AttemptOutcome.OK: Mark.DONE,
    AttemptOutcome.WAITING: Mark.DONE,  # it has worked up to what it waits for
    AttemptOutcome.FAILED: Mark.FAILED,
    AttemptOutcome.CANCELLED: Mark.CANCELLED,
    AttemptOutcome.INTERRUPTED: Mark.CANCELLED,
    None: Mark.RUNNING,
}
_CHILDREN: Final[Mapping[RunStatus, Mark]] = {
    RunStatus.RUNNING: Mark.RUNNING,
    RunStatus.WAITING: Mark.WAITING,
    RunStatus.COMPLETED: Mark.DONE,
    RunStatus.FAILED: Mark.FAILED,
    RunStatus.DEAD: Mark.FAILED,
    RunStatus.CANCELLED: Mark.CANCELLED,
}


class RowKind(StrEnum):
    """What a row stands for."""

    PLACE = "place"
    ITEMS = "items"
    CHILD = "child"
    MORE = "more"


class Span(NamedTuple):
    """A length of time.

    Attributes:
        begin: In Unix seconds.
        end: The same; that of the picture for what is under way.
        mark: How it ended.
    """

    begin: float
    end: float
    mark: Mark

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is known of the times of a place.

    Attributes:
        path: Its path, or the id of a run that a step has started.
        name: What it is called.
        kind: What it stands for.
        depth: How deep it is in others.
        work: When it worked.
        waits: When it waited for something outside.
        tries: When tries failed after which it was tried again.
        count: How many rows it stands for.
    """

    path: str
    name: str
    kind: RowKind = RowKind.PLACE
    depth: int = 0
    work: Sequence[Span] = ()
    waits: Sequence[Span] = ()
    tries: Sequence[float] = ()
    count: int = 1

    @property
    def spans(self) -> Sequence[Span]:
        """All of its times."""
        return (*self.work, *self.waits)

    @property
    def begin(self) -> float:
        """When it began."""
        return min((span.begin for span in self.spans), default=0.0)

    @property
    def mark(self) -> Mark:
        """How it stands: as its last time of work has ended, or as somebody has to do something."""
        last = max(self.work, key=lambda span: span.end, default=None)
        waits = [span.mark for span in self.waits if span.mark is not Mark.DONE]
        return strongest([last.mark if last else Mark.AHEAD, *waits])


def timeline(
    history: Iterable[HistoryEntry], *, now: datetime, is_over: bool = False, most: int = MOST_ROWS
) -> Sequence[Row]:
    """The rows of a run.

    Args:
        history: What has happened to it: `RunHistory.items` of all pages, and `RunHistory.under_way`.
        now: The end of what is under way.
        is_over: Whether the run has ended, so that what it waited for will not come.
        most: At most so many rows. Of more, the items of fan-outs are one row for each step; and if these are still too
            many, the first ones are there, and a last one for the others.
    """
    rows = _rows(history, now.timestamp(), Mark.CANCELLED if is_over else Mark.WAITING)
    if len(rows) > most:
        rows = _merged(rows)
    if len(rows) > most:
        rest = rows[most - 1 :]
        name = f"{sum(row.count for row in rest):,} more"
        spans = united([span for row in rest for span in row.work])
        return [*rows[: most - 1], Row(path="", name=name, kind=RowKind.MORE, work=spans, count=len(rest))]
    return rows


def united(spans: Iterable[Span], gap: float = 0.0) -> Sequence[Span]:
    """Times that overlap, or are not further apart than the gap, as one each, with the mark that is most important."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.begin <= found[-1].end + gap:
            last = found[-1]
            found[-1] = Span(last.begin, max(last.end, span.end), strongest((last.mark, span.mark)))
        else:
            found.append(span)
    return found


class _Times(NamedTuple):
    work: list[Span]
    waits: list[Span]
    tries: list[float]


def _rows(history: Iterable[HistoryEntry], now: float, waiting: Mark) -> list[Row]:
    places: dict[str, _Times] = {}
    children: dict[str, dict[str, ChildRun]] = {}
    for entry in history:
        if isinstance(entry, AttemptEntry):
            times = places.setdefault(entry.path, _Times([], [], []))
            times.work.extend(_worked(entry, now))
            times.tries.extend(each.at.timestamp() for each in entry.retries)
            children.setdefault(entry.path, {}).update((child.run_id, child) for child in entry.children)
        elif isinstance(entry, WaitEntry) and entry.asked is not None:
            end = now if entry.ended is None else entry.ended.timestamp()
            mark = waiting if entry.ended is None else Mark.DONE
            times = places.setdefault(entry.path, _Times([], [], []))
            times.waits[:] = [each for each in times.waits if each.begin != entry.asked.timestamp()]
            times.waits.append(Span(entry.asked.timestamp(), max(end, entry.asked.timestamp()), mark))
    rows = [
        Row(path=path, name=path, depth=_depth(path), work=w, waits=v, tries=t) for path, (w, v, t) in places.items()
    ]
    rows = [row for row in rows if row.spans]
    return [each for row in _nested(rows) for each in (row, *_of_children(row, children.get(row.path, {}), now))]


def _worked(entry: AttemptEntry, now: float) -> Iterator[Span]:
    if entry.begun is None:
        return
    begun = entry.begun.timestamp()
    ended = entry.ended or (entry.saved_at if entry.outcome is not None else None)
    end = now if ended is None else ended.timestamp()
    yield Span(begun, max(begun, end), _OUTCOMES[entry.outcome])


def _of_children(row: Row, children: Mapping[str, ChildRun], now: float) -> Iterator[Row]:
    for child in children.values():
        begin = child.created_at.timestamp()
        end = now if child.finished_at is None else child.finished_at.timestamp()
        span = Span(begin, max(begin, end), _CHILDREN[child.status])
        yield Row(path=child.run_id, name=child.workflow, kind=RowKind.CHILD, depth=row.depth + 1, work=[span])


def _nested(rows: Sequence[Row]) -> list[Row]:
    """By when they began, and what is in an item after the fan-out and the item that it belongs to."""
    by_path = {row.path: row for row in rows}
    return sorted(rows, key=lambda row: [_begin(by_path, each) for each in _around(row.path)])


def _begin(rows: Mapping[str, Row], path: str) -> tuple[float, int, str]:
    """By when it began; items by their numbers."""
    if path.endswith("]"):
        return (0.0, int(path.rpartition("[")[2][:-1]), path)
    row = rows.get(path)
    return (row.begin if row else 0.0, 0, path)


def _around(path: str) -> Sequence[str]:
    """The fan-outs and items around a place, outermost first, and it."""
    found = []
    for match in _NUMBERS.finditer(path):
        found += [path[: match.start()], path[: match.end()]]
    return found if found and found[-1] == path else [*found, path]


def _depth(path: str) -> int:
    return len(_around(path)) - 1


def _merged(rows: Sequence[Row]) -> list[Row]:
    """Rows of items with one another, by what they do."""
    groups: dict[tuple[str, RowKind], list[Row]] = {}
    for row in rows:
        key = row.name if row.kind is RowKind.CHILD else _NUMBERS.sub("[]", row.path)
        groups.setdefault((key, row.kind), []).append(row)
    return [each[0] if len(each) == 1 else _one(key, each) for (key, _), each in groups.items()]


def _one(name: str, rows: Sequence[Row]) -> Row:
    return Row(
        path=name,
        name=name,
        kind=RowKind.ITEMS,
        depth=rows[0].depth,
        work=united(span for row in rows for span in row.work),
        waits=united(span for row in rows for span in row.waits),
        count=len(rows),
    )
