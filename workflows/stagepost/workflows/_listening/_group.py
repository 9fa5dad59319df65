"""Those who listen to a run and have read as much of it: one of them reads what follows, for all of them."""

from .._bell import Bell


class Group:
    """Listeners that wait for the same.

    When it rings one of them is woken, and reads; the others are woken once it has read, or has failed to. What is
    told wakes all of them at once, unless they wait for what one of them reads.

    Attributes:
        size: How many wait.
    """

    def __init__(self) -> None:
        self.size = 0
        self._first = Bell()
        self._others = Bell()
        self._has_first = False
        self._is_reading = False

    async def wait(self) -> bool:
        """Wait until there is something; returns whether to read for the others, and to call `release` after that."""
        self.size += 1
        try:
            if self._has_first:
                await self._others.wait()
                return False
            return await self._wait_first()
        finally:
            self.size -= 1

    async def _wait_first(self) -> bool:
        self._has_first, woken = True, False
        try:
            await self._first.wait()
            woken = True
        finally:
            self._has_first = False
            if not woken:
                self.release()
        return self._is_reading

    def ring(self) -> None:
        """Something more may be stored."""
        if not self._is_reading and self._has_first:
            self._is_reading = True
            self._first.ring()

    def tell(self) -> None:
        """Something was told."""
        if not self._is_reading:
            self.wake()

    def release(self) -> None:
        """What one has read for all is there, or is not to be had."""
        self._is_reading = False
        self.wake()

    def wake(self) -> None:
        """Wake everybody."""
        self._first.ring()
        self._others.ring()
