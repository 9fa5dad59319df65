"""The part of the protocol that changes nothing, on top of SQL."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import TypeVar, Unpack

from .._filters import CountBy, Counts, RunFilters
from .._happenings import Happenings
from .._outside import Ref
from .._pages import Page
from .._snapshots import RunInfo, Snapshot, Version
from .._tables import Cell
from .._waiting import EffectBelow, Latest, OpenWait, SentSignal, WaitKind
from ..errors import (
    BlobNotFound,
    CorruptRun,
    RunNotFound,
    StatementFailed,
    StoreError,
    StoreFailed,
)
from ._at_number import at_number_query, below_query, failures_query, to_snapshot_at
from ._counting import count_query, counted, counts_of, way_of
from ._faults import is_damage
from ._finding import Filters, search_runs, search_waits, stored_query
from ._past import happenings_query, to_happenings, to_value, value_query
from ._queries import (
    LAST_STORED,
    SELECT_BLOB,
    SELECT_RUN,
    Query,
    Row,
    as_bytes,
    as_number,
    elements_query,
    head_query,
    history_query,
    latest_query,
    signals_query,
    snapshot_query,
)
from ._ranges import Position, Search, Span, Turn, Way, cursor, position
from ._rows import to_history, to_latest, to_open_wait, to_run, to_signal, to_snapshot
from ._scheduling import ScheduleReading

T = TypeVar("T")
Numbered = TypeVar("Numbered", Version, SentSignal)


class Reading(ScheduleReading, ABC):
    """Reads runs from tables; what is missing is how a query reaches its connection."""

    @abstractmethod
    async def _read(self, query: Query) -> Sequence[Row]:
        """The rows of a query."""

    async def _read_each(self, queries: Sequence[Query]) -> Sequence[Sequence[Row]]:
        """The rows of several queries, one after the other."""
        return [await self._read(query) for query in queries]

    async def load(self, run_id: str, *, at: int | None = None) -> Snapshot:
        """All that is stored of a run, or how it was at a number of its history."""
        if at is not None:
            return to_snapshot_at(
                run_id, await self._of_run(run_id, self._read(at_number_query(run_id, as_number(at)))), at
            )
        return to_snapshot(run_id, await self._of_run(run_id, self._read(snapshot_query(run_id))))

    async def head(self, run_id: str) -> Snapshot:
        """The same without lists that have rows of their own."""
        return to_snapshot(run_id, await self._of_run(run_id, self._read(head_query(run_id))), lists=False)

    async def head_with(
        self, run_id: str, path: str, key: str, *, after: int | str = 0, limit: int = 100
    ) -> tuple[Snapshot, Page[bytes]]:
        """The same, and a page of one list."""
        begin = as_number(after or 0)
        queries = head_query(run_id), elements_query(run_id, path, key, begin, _one_more(limit))
        rows, elements = await self._of_run(run_id, self._read_each(queries))
        return to_snapshot(run_id, rows, lists=False), _elements(run_id, key, elements, begin, limit)

    async def _of_run(self, run_id: str, rows: Awaitable[T]) -> T:
        try:
            return await rows
        except StoreFailed as error:
            if is_damage(error.__cause__):
                raise CorruptRun(run_id, str(error.reason)) from error
            raise

    async def info(self, run_id: str) -> RunInfo:
        """What is known of a run without its state."""
        for row in await self._read(Query(SELECT_RUN, (run_id,))):
            return to_run(row)
        raise RunNotFound(run_id)

    async def find(
        self,
        *,
        newest_first: bool = False,
        after: str | None = None,
        before: str | None = None,
        limit: int = 100,
        **filters: Unpack[RunFilters],
    ) -> Page[RunInfo]:
        """Runs in the order in which they were started."""
        chosen, turn = Filters(**filters), Turn(newest_first, after, before)
        if chosen.are_void:
            return Page(())
        return await self._page(partial(search_runs, chosen), turn, to_run, limit)

    async def count(self, *, by: CountBy | None = None, **filters: Unpack[RunFilters]) -> Counts:
        """How many runs there are."""
        chosen = Filters(**filters)
        if chosen.are_void:
            return counts_of((), by)
        search = search_runs(counted(chosen, by), Turn())
        way = way_of(search.ways, *await self._way(search.ways, search.span))
        return counts_of(await self._read(count_query(chosen, way, search.span, by)), by)

    async def stored(self, after: str | None = None, *, limit: int = 100) -> Page[RunInfo]:
        """Runs in the order in which they were stored."""
        _one_more(limit)
        rows = await self._read(stored_query(after, limit))
        found, damaged = _converted(rows, to_run, 1)
        return Page(found, str(rows[-1][0]) if rows else after or "0", damaged, after or None)

    async def last_stored(self) -> str:
        """Where runs begin that are not stored yet."""
        return str((await self._read(LAST_STORED))[0][0])

    async def history(self, run_id: str, *, after: int | str = 0, limit: int = 100) -> Page[Version]:
        """What the frames of a run were before."""
        rows = await self._read(history_query(run_id, as_number(after or 0), _one_more(limit)))
        return _numbered(to_history(run_id, rows), limit)

    async def happenings(self, run_id: str, *, after: int | str = 0, limit: int = 100) -> Happenings:
        """What has happened to a run that keeps all."""
        rows = await self._read(happenings_query(run_id, as_number(after or 0), _one_more(limit)))
        return to_happenings(run_id, rows, limit)

    async def value(self, run_id: str, path: str, ref: Ref, *, after: int = 0) -> bytes:
        """JSON of a value that a frame refers to."""
        found = to_value(run_id, ref, after, await self._read(value_query(run_id, path, ref, after)))
        if found is None:
            await self.info(run_id)
            raise CorruptRun(run_id, f"its value number {ref.number} is gone")
        return found

    async def elements(
        self, run_id: str, path: str, key: str, *, after: int | str = 0, limit: int = 100
    ) -> Page[bytes]:
        """JSON of elements of a list, in their order."""
        begin = as_number(after or 0)
        rows = await self._read(elements_query(run_id, path, key, begin, _one_more(limit)))
        if not rows:
            await self.info(run_id)
        return _elements(run_id, key, rows, begin, limit)

    async def last_failures(self, run_id: str, *, path: str | None = None) -> int | None:
        """Where in its history a run has joined a fan-out of which items had failed."""
        ((joined,),) = await self._read(failures_query(run_id, path))
        return None if joined is None else joined - 1

    async def effects_below(self, run_id: str, *, at: int | None = None) -> Sequence[EffectBelow]:
        """Effects of runs below a run."""
        rows = await self._read(below_query(run_id, None if at is None else as_number(at)))
        return [EffectBelow(name, place, key, starter, bool(after)) for name, place, key, starter, after in rows]

    async def query(self, text: str, *values: Cell) -> Sequence[tuple[Cell, ...]]:
        """The rows of a SELECT."""
        wrapped = Query(f"SELECT * FROM (\n{text.rstrip().removesuffix(';')}\n)", values)
        try:
            return [tuple(row) for row in await self._read(wrapped)]
        except (sqlite3.Error, ValueError, OverflowError, StoreError) as error:
            raise StatementFailed(text, str(error)) from error

    async def waits(
        self,
        *,
        run_id: str | None = None,
        below: str | None = None,
        kind: WaitKind | None = None,
        after: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> Page[OpenWait]:
        """Open waits in the order of their ids."""
        return await self._page(
            partial(search_waits, run_id, below, kind), Turn(after=after, before=before), to_open_wait, limit
        )

    async def news(self, run_id: str, after: int) -> Latest:
        """What was written for a run since its owner heard of it last."""
        rows = await self._read(latest_query(run_id, after))
        if not rows:
            raise RunNotFound(run_id)
        return to_latest(run_id, rows)

    async def signals(self, run_id: str, *, after: int | str = 0, limit: int = 100) -> Page[SentSignal]:
        """Signals that were sent to a run."""
        rows = await self._read(signals_query(run_id, as_number(after or 0), _one_more(limit)))
        return _numbered([to_signal(run_id, row) for row in rows], limit)

    async def blob(self, digest: str) -> bytes:
        """Bytes that a run refers to, by their digest."""
        for (data,) in await self._read(Query(SELECT_BLOB, (as_bytes(digest),))):
            return bytes(data)
        raise BlobNotFound(digest)

    async def _page(
        self, search_for: Callable[[Turn], Search], turn: Turn, convert: Callable[[Row], T], limit: int
    ) -> Page[T]:
        """The rows of a page; those that make no sense are named instead."""
        wanted, search, is_before = _one_more(limit), search_for(turn), bool(turn.before)
        span = search.span.backwards() if is_before else search.span
        (ranges, filters), last = await self._way(search.ways, span)
        if last is not None:
            span = span.up_to(last, included=not is_before)
        rows = await self._read(ranges.page(search.columns, span, filters, wanted))
        if len(rows) == wanted:  # the cursor is the last place before what it leads to, in whichever direction
            last = position(rows[limit if is_before else limit - 1][: len(ranges.order)])
        end = None if last is None else cursor(last)
        found, damaged = _converted(rows[:limit], convert, len(ranges.order))
        if is_before:
            return Page(found[::-1], turn.before, damaged[::-1], end)
        return Page(found, end, damaged, turn.after or None)

    async def _way(self, ways: Sequence[Way], span: Span) -> tuple[Way, Position | None]:
        """The way that gets farthest, and the last place that it gets to; None if that is the end."""
        reached: list[tuple[Position, Way]] = []
        for way in ways:
            rows = await self._read(way.ranges.farthest(span)) if way.filters else ()
            if not rows:
                return way, None
            reached.append((position(rows[0]), way))
        last, way = (min if span.newest_first else max)(reached, key=itemgetter(0))
        return way, last


def _converted(
    rows: Sequence[Row], convert: Callable[[Row], T], begin: int
) -> tuple[Sequence[T], Sequence[CorruptRun]]:
    """Rows as what they mean, and those that make no sense."""
    found, damaged = list[T](), list[CorruptRun]()
    for row in rows:
        try:
            found.append(convert(row[begin:]))
        except CorruptRun as error:
            damaged.append(error)
    return tuple(found), tuple(damaged)


def _elements(run_id: str, key: str, rows: Sequence[Row], begin: int, limit: int) -> Page[bytes]:
    """A page of a list of a run."""
    if any(idx != begin + place for place, (idx, _) in enumerate(rows)):
        raise CorruptRun(run_id, f"its list {key!r} lacks elements")
    found = tuple(bytes(data) for _, data in rows[:limit])
    return Page(found, str(begin + limit) if len(rows) > limit else None)


def _one_more(limit: int) -> int:
    """How many rows are asked for, to know whether another page follows."""
    if limit < 1:
        raise ValueError(f"limit={limit}: a page has one entry at least")
    return as_number(limit + 1)


def _numbered(found: Sequence[Numbered], limit: int) -> Page[Numbered]:
    """A page of what has numbers."""
    return Page(tuple(found[:limit]), str(found[limit - 1].number) if len(found) > limit else None)
