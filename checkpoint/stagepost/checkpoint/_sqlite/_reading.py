"""The part of the protocol that changes nothing, on top of SQL."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from typing import TypeAlias, TypeVar

from .._pages import Page
from .._records import RunInfo, RunStatus, Snapshot, Version
from .._tables import Cell
from .._waiting import OpenWait, SentSignal, WaitKind
from ..errors import (
    BlobNotFound,
    CorruptBlob,
    CorruptRun,
    CorruptStore,
    OrphanedRows,
    RunNotFound,
    StatementFailed,
    StoreError,
    StoreFailed,
    UnusedBlobs,
    UnusedLists,
)
from ._blobs import damaged_blobs
from ._faults import is_damage
from ._queries import (
    INTEGRITY,
    ODD_RUNS,
    ORPHANS,
    SELECT_BLOB,
    SELECT_RUN,
    UNUSED_BLOBS,
    UNUSED_LISTS,
    Filters,
    Query,
    Row,
    as_bytes,
    elements_query,
    history_query,
    ids_query,
    runs_query,
    signals_query,
    snapshot_query,
    waits_query,
)
from ._rows import odd_run, to_history, to_open_wait, to_run, to_signal, to_snapshot

T = TypeVar("T")
Damage: TypeAlias = CorruptRun | CorruptBlob | CorruptStore | OrphanedRows | UnusedBlobs | UnusedLists
_PAGE = 200  # runs looked at in one query


class Reading(ABC):
    """Reads runs from tables; what is missing is how a query reaches its connection."""

    @abstractmethod
    async def _read(self, query: Query) -> Sequence[Row]:
        """The rows of a query."""

    async def load(self, run_id: str) -> Snapshot:
        """All that is stored of a run."""
        try:
            return to_snapshot(run_id, await self._read(snapshot_query(run_id)))
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
        status: RunStatus | Collection[RunStatus] | None = None,
        workflow: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        after: str = "",
        limit: int = 100,
        damaged: list[CorruptRun] | None = None,
    ) -> Sequence[RunInfo]:
        """Runs in the order of their ids."""
        query = partial(runs_query, Filters(status, workflow, since, until))
        return await self._page(query, to_run, lambda row: str(row[0]), after, limit, damaged=damaged)

    async def history(self, run_id: str, *, after: int = 0, limit: int = 100) -> Sequence[Version]:
        """What the frames of a run were before."""
        return to_history(run_id, await self._read(history_query(run_id, after, limit)))

    async def elements(
        self, run_id: str, path: str, key: str, *, after: int | str = 0, limit: int = 100
    ) -> Page[bytes]:
        """JSON of elements of a list, in their order."""
        begin = int(after)
        rows = await self._read(elements_query(run_id, path, key, begin, limit + 1))  # one more tells whether to go on
        if not rows:
            await self.info(run_id)
        if any(idx != begin + place for place, (idx, _) in enumerate(rows)):
            raise CorruptRun(run_id, f"its list {key!r} lacks elements")
        found = tuple(bytes(data) for _, data in rows[:limit])
        return Page(found, str(begin + limit) if len(rows) > limit else None)

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
        after: str = "",
        limit: int = 100,
    ) -> Sequence[OpenWait]:
        """Open waits in the order of their ids."""
        query = partial(waits_query, run_id, below, kind)
        return await self._page(query, to_open_wait, lambda row: str(row[0]), after, limit)

    async def signals(self, run_id: str, *, after: int = 0, limit: int = 100) -> Sequence[SentSignal]:
        """Signals that were sent to a run."""
        return [to_signal(run_id, row) for row in await self._read(signals_query(run_id, after, limit))]

    async def blob(self, digest: str) -> bytes:
        """Bytes that a run refers to, by their digest."""
        for (data,) in await self._read(Query(SELECT_BLOB, (as_bytes(digest),))):
            return bytes(data)
        raise BlobNotFound(digest)

    async def check(self) -> Sequence[Damage]:
        """Read every run, and tell what was found of those that are damaged, or that somebody has changed by hand.

        Also told are bytes that runs refer to and that are gone or changed, bytes and rows that belong to no run, and
        if all runs are well, whether SQLite finds the file well.

        Raises:
            StoreFailed: The list of the runs itself is damaged.
        """
        found: list[Damage] = [*await self._damaged_runs()]
        named = {error.run_id for error in found if isinstance(error, CorruptRun)}
        try:
            found += [odd_run(row) for row in await self._read(Query(ODD_RUNS, ())) if row[0] not in named]
            found += await damaged_blobs(self._read)
            found += [OrphanedRows(*row) for row in await self._read(Query(ORPHANS, ())) if row[1]]
            found += [UnusedLists(*row) for row in await self._read(Query(UNUSED_LISTS, ())) if row[0]]
            found += [UnusedBlobs(*row) for row in await self._read(Query(UNUSED_BLOBS, ())) if row[0]]
            if not found:
                found += [CorruptStore(text) for (text,) in await self._read(Query(INTEGRITY, ())) if text != "ok"]
        except StoreFailed as error:
            if not is_damage(error.__cause__):
                raise
            return found or [CorruptStore(error.reason)]
        return found

    async def _damaged_runs(self) -> Sequence[CorruptRun]:
        damaged, after = list[CorruptRun](), ""
        while ids := [run_id for (run_id,) in await self._read(ids_query(after, _PAGE))]:
            for run_id in ids:
                try:
                    await self.load(run_id)
                except CorruptRun as error:
                    damaged.append(error)
            after = ids[-1]
        return damaged

    async def _page(
        self,
        query: Callable[[str, int], Query],
        convert: Callable[[Row], T],
        place_of: Callable[[Row], str],
        after: str,
        limit: int,
        *,
        damaged: list[CorruptRun] | None = None,
    ) -> Sequence[T]:
        """The first rows behind a place that make sense: damaged ones neither count nor end the page."""
        found: list[T] = []
        damaged = [] if damaged is None else damaged
        while len(found) < limit:
            wanted = limit - len(found)
            rows = await self._read(query(after, wanted))
            for row in rows:
                after = place_of(row)
                try:
                    found.append(convert(row))
                except CorruptRun as error:
                    damaged.append(error)
            if len(rows) < wanted:
                break
        return tuple(found)
