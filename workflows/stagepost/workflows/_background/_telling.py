"""Ends of waits that are being saved, and whose runs nobody here has been told of yet."""

from collections.abc import Iterator
from contextlib import contextmanager

from .._bell import Bell


class Telling:
    """Lets those who find a run that goes on, and nobody who works on it, wait for whoever has let it go on."""

    def __init__(self) -> None:
        self._number = 0
        self._under_way: set[int] = set()
        self._changed = Bell()

    @contextmanager
    def save(self) -> Iterator[None]:
        """Round what ends waits in the store; who waits for them is told right behind it, before anything else."""
        self._number += 1
        number = self._number
        self._under_way.add(number)
        try:
            yield
        finally:
            self._under_way.remove(number)
            self._changed.ring()

    async def over(self) -> None:
        """Wait for those that are under way now."""
        under_way = set(self._under_way)
        while under_way & self._under_way:
            await self._changed.wait()
