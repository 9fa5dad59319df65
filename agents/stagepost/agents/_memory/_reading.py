"""Reading a memory: what is found, and whether there is room."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from stagepost.checkpoint import Cell

from ._backend import MemoryBackend, Query
from ._entry import MemoryEntry
from ._sqlite import SqliteMemory
from ._words import Place, words_of


class Room(NamedTuple):
    """What a place has.

    Attributes:
        has_it: Whether an entry exists.
        others: The number of other entries.
    """

    has_it: bool
    others: int


class Reading:
    """The entries of a place, as they are saved.

    Args:
        backend: The statements.
        query: Executes them.
        place: The place.
    """

    def __init__(self, backend: MemoryBackend, query: Query, place: Place) -> None:
        self.backend = backend
        self._query = query
        self._place = place

    @classmethod
    async def of(cls, query: Query, place: Place) -> "Reading":
        """Find out what the database has."""
        return cls(await SqliteMemory.found(query), query, place)

    async def find(self, query: str, limit: int) -> Sequence[MemoryEntry]:
        """What fits a query best, or the newest entries if it has no words."""
        if not self.backend.is_made:
            return ()
        words = words_of(query)
        if not words:
            return [self.backend.entry(row) for row in await self.rows(None, limit)]
        for text, values in self.backend.search(self._place, words, limit):
            if rows := await self._query(text, *values):
                return [self.backend.entry(row) for row in rows]
        return ()

    async def rows(self, before: int | None, limit: int) -> Sequence[tuple[Cell, ...]]:
        """The newest entries, as rows whose last column is their number."""
        if not self.backend.is_made:
            return ()
        text, values = self.backend.latest(self._place, before, limit)
        return await self._query(text, *values)

    async def room(self, entry_id: str, beside: Collection[str] = ()) -> Room:
        """Whether an entry exists, and how many others that are none of `beside`."""
        if not self.backend.is_made:
            return Room(has_it=False, others=0)
        text, values = self.backend.count(self._place, entry_id, {entry_id, *beside})
        ((has_it, others),) = await self._query(text, *values)
        return Room(bool(has_it), int(others or 0))
