"""How often callers may ask, and how often they may be wrong."""

from ipaddress import IPv6Address, ip_address
from time import time
from typing import Final

from limits import RateLimitItem, parse_many
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from ..errors import TooManyRequests
from ._limits import RequestLimits

_REQUESTS: Final = "requests"
_FAILURES: Final = "failures"
_NETWORK: Final = 64  # bits that all addresses of one household or one server have in common


class Rates:
    """Counts requests and failures in the memory of this process.

    Args:
        limits: How many there may be.
    """

    def __init__(self, limits: RequestLimits) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._requests = parse_many(limits.requests) if limits.requests else []
        self._failures = parse_many(limits.failures) if limits.failures else []

    async def count(self, who: str) -> None:
        """Count a request.

        Raises:
            TooManyRequests: It is one too many.
        """
        for item in self._requests:
            if not await self._limiter.hit(item, _REQUESTS, who):
                raise await self._refusal(item, _REQUESTS, who)

    async def failed(self, address: str) -> None:
        """Count a key that was wrong.

        Raises:
            TooManyRequests: It is one too many.
        """
        for item in self._failures:
            if not await self._limiter.hit(item, _FAILURES, address):
                raise await self._refusal(item, _FAILURES, address)

    async def check_failures(self, address: str) -> None:
        """See that an address may try another key.

        Raises:
            TooManyRequests: It has tried too many.
        """
        for item in self._failures:
            if not await self._limiter.test(item, _FAILURES, address):
                raise await self._refusal(item, _FAILURES, address)

    async def _refusal(self, item: RateLimitItem, *who: str) -> TooManyRequests:
        window = await self._limiter.get_window_stats(item, *who)
        return TooManyRequests(str(item), window.reset_time - time())


def network_of(host: str) -> str:
    """What addresses are counted as: for IPv6 the network, whose owner has more addresses than could be counted."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    shift = address.max_prefixlen - _NETWORK
    return f"{IPv6Address(int(address) >> shift << shift)}/{_NETWORK}"
