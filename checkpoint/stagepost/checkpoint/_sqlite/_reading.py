"""The part of the protocol that changes nothing, on top of SQL."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from .._catalogue import Damage
from .._pages import Page
from .._records import RunInfo, RunStatus, Snapshot, Version
from .._waiting import Latest, OpenWait, SentSignal, WaitKind
from ..errors import (
    BlobNotFound,
    CorruptRun,
    CorruptStore,
    OrphanedRows,
    RunNotFound,
    StoreFailed,
    UnusedBlobs,
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
    Filters,
    Query,
    Row,
    as_bytes,
    history_query,
    ids_query,
    latest_query,
    runs_query,
    signals_query,
    snapshot_query,
    waits_query,
)
from ._rows import odd_run, to_latest, to_open_wait, to_run, to_signal, to_snapshot, to_version

T = TypeVar("T")
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
        after: str | None = None,
        limit: int = 100,
    ) -> Page[RunInfo]:
        """Runs in the order of their ids."""
        return await self._page(partial(runs_query, Filters(status, workflow, since, until)), to_run, after, limit)

    async def history(self, run_id: str, *, after: int | str = 0, limit: int = 100) -> Page[Version]:
        """What the frames of a run were before."""
        await self.info(run_id)
        rows = await self._read(history_query(run_id, int(after), limit))
        return Page(tuple(to_version(run_id, row) for row in rows), _following(rows, limit))

    async def waits(
        self,
        *,
        run_id: str | None = None,
        below: str | None = None,
        kind: WaitKind | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[OpenWait]:
        """Open waits in the order of their ids."""
        return await self._page(partial(waits_query, run_id, below, kind), to_open_wait, after, limit)

    async def news(self, run_id: str, after: int) -> Latest:
        """What was written for a run since its owner heard of it last."""
        rows = await self._read(latest_query(run_id, after))
        if not rows:
            raise RunNotFound(run_id)
        return to_latest(run_id, rows)

    async def signals(self, run_id: str, *, after: int | str = 0, limit: int = 100) -> Page[SentSignal]:
        """Signals that were sent to a run."""
        rows = await self._read(signals_query(run_id, int(after), limit))
        return Page(tuple(to_signal(run_id, row) for row in rows), _following(rows, limit))

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
        following: str | None,
        limit: int,
    ) -> Page[T]:
        """The first rows after a place, their first column, that make sense: damaged ones do not count."""
        after = following or ""
        found, damaged = list[T](), list[CorruptRun]()
        while len(found) < limit:
            wanted = limit - len(found)
            rows = await self._read(query(after, wanted))
            for row in rows:
                after = str(row[0])
                try:
                    found.append(convert(row))
                except CorruptRun as error:
                    damaged.append(error)
            if len(rows) < wanted:
                return Page(tuple(found), None, tuple(damaged))
        return Page(tuple(found), after, tuple(damaged))


def _following(rows: Sequence[Row], limit: int) -> str | None:
    """Where the page after this one begins: after the number of its last row, unless it is the last page."""
    return str(rows[-1][0]) if rows and len(rows) == limit else None
