"""What a memory asks of a database, as statements: whoever has a connection or a step executes them."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol, TypeAlias

from stagepost.checkpoint import Cell, Statement

from ._entry import MemoryEntry
from ._words import Place

Query: TypeAlias = Callable[..., Awaitable[Sequence[tuple[Cell, ...]]]]
"""Executes a SELECT: `Tables.query` of a store, or `StepContext.query` of a step."""


class MemoryBackend(Protocol):
    """The statements of a memory in one kind of database."""

    @property
    def is_made(self) -> bool:
        """Whether the tables exist; nothing can be read before."""
        ...

    def make(self) -> Sequence[Statement]:
        """Make the tables, if they do not exist."""
        ...

    def add(self, place: Place, entry: MemoryEntry) -> Sequence[Statement]:
        """Add an entry; nothing happens if its id is there."""
        ...

    def remove(self, place: Place, entry_id: str) -> Sequence[Statement]:
        """Remove an entry; nothing happens if it is not there."""
        ...

    def clear(self, place: Place) -> Sequence[Statement]:
        """Remove all entries of a place, also from the index."""
        ...

    def search(self, place: Place, words: Sequence[str], limit: int) -> Sequence[Statement]:
        """Ways to find entries, the best entries first. If one finds nothing, the next one is tried."""
        ...

    def latest(self, place: Place, before: int | None, limit: int) -> Statement:
        """The newest entries, those with a number below `before` only."""
        ...

    def count(self, place: Place, entry_id: str, beside: Collection[str]) -> Statement:
        """Whether an entry exists, and the number of entries that are none of `beside`."""
        ...

    def scopes(self, memory: str, after: str, limit: int) -> Statement:
        """The scopes of a memory, in their order."""
        ...

    def entry(self, row: Sequence[Cell]) -> MemoryEntry:
        """The entry of a row that was found."""
        ...
