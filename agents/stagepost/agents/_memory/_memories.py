"""A memory as people see it: to look into it, and to delete what somebody wants deleted."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from stagepost.checkpoint import Page, Tables

from ._entry import MemoryEntry
from ._reading import Reading
from ._sqlite import SqliteMemory
from ._words import Place, clean


class Memories:
    """The memories in a store, of all scopes, for the process: what the tools of a `Memory` do, and more.

    ::

        memories = Memories(store)
        for entry in (await memories.list("7")).items: ...
        await memories.search("7", "tea")
        await memories.forget("7", entry.id)
        await memories.clear("7")               # all of customer 7

    Args:
        store: The store of the runner.
        name: The name of the memory: ``Memory(name=…)``.
        clock: Seconds since 1970, for the times of entries.
    """

    def __init__(self, store: Tables, *, name: str = "memory", clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._name = name
        self._clock = clock

    async def scopes(self, *, after: str | None = None, limit: int = 100) -> Page[str]:
        """The scopes that have memories, in their order.

        Args:
            after: The ``next`` of the page before.
            limit: How many at most.
        """
        backend = await SqliteMemory.found(self._store.query)
        if not backend.is_made:
            return Page(())
        text, values = backend.scopes(self._name, after or "", limit + 1)
        found = [str(scope) for (scope,) in await self._store.query(text, *values)]
        return Page(found[:limit], found[limit - 1] if len(found) > limit else None)

    async def list(self, scope: str, *, after: str | None = None, limit: int = 100) -> Page[MemoryEntry]:
        """The memories of a scope, the newest first.

        Args:
            scope: Whose memories.
            after: The ``next`` of the page before.
            limit: How many at most.
        """
        reading = await self._reading(scope)
        rows = await reading.rows(None if after is None else int(after), limit + 1)
        found = [reading.backend.entry(row) for row in rows[:limit]]
        return Page(found, str(rows[limit - 1][-1]) if len(rows) > limit else None)

    async def search(self, scope: str, query: str, *, limit: int = 10) -> Sequence[MemoryEntry]:
        """The memories of a scope that share most words with a query, the best first, as ``recall`` finds them.

        Args:
            scope: Whose memories.
            query: Words; without any, the newest memories are found.
            limit: How many at most.
        """
        return await (await self._reading(scope)).find(query, limit)

    async def remember(self, scope: str, text: str) -> str:
        """Add a memory, such as what is known of a new customer. No limit of a `Memory` applies.

        Returns:
            Its id; the same text is kept once, as it was first written.

        Raises:
            ValueError: The text is empty.
        """
        place, kept = Place(self._name, scope), clean(text)
        if not kept:
            raise ValueError("an empty text cannot be remembered")
        entry = MemoryEntry(place.id_of(kept), kept, datetime.fromtimestamp(self._clock(), UTC))
        backend = await SqliteMemory.found(self._store.query)
        await self._store.execute(*backend.add(place, entry))
        return entry.id

    async def forget(self, scope: str, entry_id: str) -> bool:
        """Delete a memory of a scope; returns whether it was there."""
        reading = await self._reading(scope)
        there = (await reading.room(entry_id)).has_it
        if there:
            await self._store.execute(*reading.backend.remove(Place(self._name, scope), entry_id))
        return there

    async def clear(self, scope: str) -> int:
        """Delete all memories of a scope, and their words from the index; returns how many there were.

        The transcripts of runs are not changed: delete the runs, too, if nothing of what was said may stay.
        """
        reading = await self._reading(scope)
        count = (await reading.room("")).others
        if count:
            await self._store.execute(*reading.backend.clear(Place(self._name, scope)))
        return count

    async def _reading(self, scope: str) -> Reading:
        return await Reading.of(self._store.query, Place(self._name, scope))
