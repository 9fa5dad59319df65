"""When pages are to be looked at again: as soon as something was committed, and not so often that it costs much."""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio

_LOOK: Final = 0.1  # seconds between two looks at whether anything was committed, however many pages are open
_SHARE: Final = 0.05  # of the time, for all pages that are open
_LONGEST: Final = 2.0  # seconds after a look without another one


class Pulse:
    """Tells all open pages that something was committed; only one of them asks the store at a time.

    Args:
        share: How much of the time may go into looks of pages that follow.
    """

    def __init__(self, share: float = _SHARE) -> None:
        self._share = share
        self._lock = anyio.Lock()
        self._turn = anyio.Lock()
        self._version = -1
        self._counted = 0
        self._free_at = 0.0

    async def changed(self, known: int, read: Callable[[], Awaitable[int | None]]) -> int:
        """Wait until something was committed.

        Args:
            known: What this returned before; -1 to return at once.
            read: Reads the version of the store; of None something is taken to change all the time.

        Returns:
            The number of changes seen so far.
        """
        while True:
            if self._counted > known >= 0:
                return self._counted
            async with self._lock:
                if self._counted > known >= 0:
                    return self._counted
                version = await read()
                if version is None or version != self._version:
                    self._version = -1 if version is None else version
                    self._counted += 1
                if known < 0:
                    return self._counted
                await anyio.sleep(_LOOK)

    async def turn(self) -> None:
        """Wait until there is time for another look."""
        async with self._turn:
            await anyio.sleep(max(self._free_at - anyio.current_time(), 0))

    def took(self, cost: float) -> None:
        """A look has taken some time.

        Args:
            cost: Seconds, with those in which the store was read.
        """
        self._free_at = max(self._free_at, anyio.current_time()) + min(cost / self._share, _LONGEST)
