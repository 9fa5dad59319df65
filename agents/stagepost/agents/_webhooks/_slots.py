"""How many requests are under way at once: to one host, and at all."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio


class Slots:
    """Lets in so many at once; the others wait in their order. A slow host takes no more than its share.

    Args:
        total: Requests at once.
        per_host: Requests to one host at once.
    """

    def __init__(self, total: int, per_host: int) -> None:
        self._all = anyio.CapacityLimiter(total)
        self._per_host = per_host
        self._hosts: dict[str, anyio.CapacityLimiter] = {}
        self._users = Counter[str]()

    @asynccontextmanager
    async def one(self, host: str) -> AsyncIterator[None]:
        """A slot for the length of a block."""
        limiter = self._hosts.setdefault(host, anyio.CapacityLimiter(self._per_host))
        self._users[host] += 1
        try:
            async with limiter, self._all:
                yield
        finally:
            self._users[host] -= 1
            if not self._users[host]:
                del self._users[host], self._hosts[host]
