"""A look at all that is stored: what is damaged, and what somebody has changed by hand."""

import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from .._catalogue import Damage, Progress
from .._pages import Unreadable
from ..errors import CorruptRun, CorruptStore, OrphanedRows, RunNotFound, StoreFailed, UnusedBlobs, UnusedLists
from ._blobs import damaged_blobs
from ._faults import is_damage
from ._queries import (
    COUNT_RUNS,
    ODD_RUNS,
    ORPHANS,
    TABLE_NAMES,
    UNUSED_BLOBS,
    UNUSED_LISTS,
    Query,
    ids_query,
    integrity_query,
)
from ._reading import Reading
from ._rows import odd_run, suspects

T = TypeVar("T")
_PAGE = 100  # runs that are examined at once
_MOST_TOLD = 10  # complaints of SQLite's: what follows the first ones is seldom of use


class Verifying(Reading):
    """Reads everything; nobody else should need the connection meanwhile."""

    @abstractmethod
    async def _examine(self, look: Callable[[sqlite3.Connection], T]) -> T:
        """Look at the tables, for what takes many queries."""

    async def verify(self, progress: Progress | None = None) -> Sequence[Damage]:
        """Read every run, and tell what was found of those that are damaged, or that somebody has changed by hand.

        Also told are schedules that make no sense, bytes that runs refer to and that are gone or changed, bytes and
        rows that belong to no run, and if all runs are well, whether SQLite finds the tables and their indexes well.

        Args:
            progress: Awaited now and then with how many runs were read, and how many there were at the beginning. What
                is not of runs is looked at after the last of them.

        Raises:
            StoreFailed: The list of the runs itself is damaged.
        """
        found: list[Damage] = [*await self._damaged_runs(progress)]
        named = {error.run_id for error in found if isinstance(error, CorruptRun)}
        try:
            found += [odd_run(row) for row in await self._read(Query(ODD_RUNS, ())) if row[0] not in named]
            found += await damaged_blobs(self._read)
            found += await self._damaged_schedules()
            found += [OrphanedRows(*row) for row in await self._read(Query(ORPHANS, ())) if row[1]]
            found += [UnusedLists(*row) for row in await self._read(Query(UNUSED_LISTS, ())) if row[0]]
            found += [UnusedBlobs(*row) for row in await self._read(Query(UNUSED_BLOBS, ())) if row[0]]
            if not found:
                found += await self._damaged_tables()
        except StoreFailed as error:
            if not is_damage(error.__cause__):
                raise
            return found or [CorruptStore(error.reason)]
        return found

    async def _damaged_tables(self) -> Sequence[CorruptStore]:
        """What SQLite finds, table by table: one read of all would keep the WAL from being emptied for long."""
        names = [str(name) for (name,) in await self._read(Query(TABLE_NAMES, ()))]
        texts = [text for name in names for (text,) in await self._read(integrity_query(name))]
        return [CorruptStore(text) for text in texts if text != "ok"][:_MOST_TOLD]

    async def _damaged_schedules(self) -> Sequence[Unreadable]:
        damaged, after = list[Unreadable](), None
        while True:
            page = await self.schedules(after=after, limit=_PAGE)
            damaged += page.damaged
            if (after := page.next) is None:
                return damaged

    async def _damaged_runs(self, progress: Progress | None) -> Sequence[CorruptRun]:
        damaged, after, done = list[CorruptRun](), "", 0
        total = 0 if progress is None else (await self._read(COUNT_RUNS))[0][0]
        while ids := [run_id for (run_id,) in await self._read(ids_query(after, _PAGE))]:
            for run_id in await self._examine(partial(suspects, run_ids=ids)):
                try:
                    await self.load(run_id)
                except CorruptRun as error:
                    damaged.append(error)
                except RunNotFound:  # it was deleted since
                    continue
            after, done = ids[-1], done + len(ids)
            if progress is not None:
                await progress(done, max(done, total))
        return damaged
