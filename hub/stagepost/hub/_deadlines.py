"""One timer for all deadlines of a hub."""

import math
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from heapq import heappop, heappush
from typing import Any, Final, Protocol, TypeAlias

from ._time_slice import TimeSlice
from ._undisturbed import undisturbed
from ._wake import Backend, Waiter

_TICKS_PER_SECOND: Final = 256
TICK: Final = 1 / _TICKS_PER_SECOND  # seconds that a deadline may fire late
_PRUNE_FROM: Final = 1024
_DROPPED_AT_ONCE: Final = 256


class Expiring(Protocol):
    """Something with a deadline."""

    def expire(self) -> None:
        """Called once when the deadline has passed, unless the entry was removed from its bucket before."""


Bucket: TypeAlias = dict[Expiring, None]


class Deadlines:
    """Buckets of entries due in the same tick of 4 ms; adding and removing cost one dictionary operation each.

    A deadline fires up to one tick late and never early. Empty buckets are swept as new ones open, so that their number
    stays proportional to those in use; entries themselves leave at once. The task that waits for the earliest bucket
    starts with the first deadline.
    """

    def __init__(
        self,
        backend: Backend,
        spawn: Callable[[Callable[[], Coroutine[Any, Any, None]], str], object],
        time_slice: TimeSlice,
    ) -> None:
        self._backend = backend
        self._time_slice = time_slice
        self._spawn = spawn
        self._buckets: dict[int, Bucket] = {}
        self._order: list[int] = []
        self._prune_at = _PRUNE_FROM
        self._armed = math.inf
        self._waiter: Waiter | None = None
        self._started = False

    def add(self, entry: Expiring, at: float) -> Bucket:
        """Let an entry expire at a time of the backend's clock.

        Returns:
            Its bucket. Whoever ends the entry earlier removes it: ``bucket.pop(entry, None)``.
        """
        tick = int(at * _TICKS_PER_SECOND) + 1
        bucket = self._buckets.get(tick)
        if bucket is None:
            bucket = self._open(tick)
        bucket[entry] = None
        return bucket

    def _open(self, tick: int) -> Bucket:
        if len(self._buckets) >= self._prune_at:
            self._prune()
        bucket = self._buckets[tick] = {}
        heappush(self._order, tick)
        if tick < self._armed:
            self._arm(tick)
        return bucket

    def _prune(self) -> None:
        """Drop empty buckets; the next sweep comes when as many again have opened, so each costs O(1) on average."""
        self._buckets = {tick: bucket for tick, bucket in self._buckets.items() if bucket}
        self._order = sorted(self._buckets)
        self._prune_at = max(_PRUNE_FROM, 2 * len(self._buckets))

    def _arm(self, tick: int) -> None:
        self._armed = tick
        if not self._started:
            self._started = True
            self._spawn(self._run, "stagepost deadlines")
        elif self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _run(self) -> None:
        await undisturbed(self._backend, self._watch)

    async def _watch(self) -> None:
        while True:
            self._armed = self._order[0] if self._order else math.inf
            self._waiter = self._backend.new_waiter()
            await self._backend.wait_until(self._waiter, self._armed / _TICKS_PER_SECOND)
            if self._armed <= self._now():
                await self._expire_due()
                await self._drop_empty()

    def _now(self) -> float:
        return self._backend.clock() * _TICKS_PER_SECOND

    async def _expire_due(self) -> None:
        while self._order and self._order[0] <= self._now():
            bucket = self._buckets.pop(heappop(self._order))
            entries = iter(list(bucket))  # oldest first
            try:
                for _ in _expire(entries, bucket):
                    await self._time_slice.take()
            finally:
                deque(_expire(entries, bucket), maxlen=0)  # somebody cancelled this task who must not

    async def _drop_empty(self) -> None:
        """Drop empty buckets up to the first one in use, so that an idle hub does not wake for them.

        Not done whenever the task wakes: it would disarm the timer after each request of a lone client, to arm it again
        with the next one.
        """
        dropped = 0
        while self._order and not self._buckets[self._order[0]]:
            del self._buckets[heappop(self._order)]
            dropped += 1
            if dropped % _DROPPED_AT_ONCE == 0:
                await self._time_slice.take(_DROPPED_AT_ONCE)


def _expire(entries: Iterator[Expiring], bucket: Bucket) -> Iterator[None]:
    """Expire the entries that are still in the bucket, one with each step."""
    for entry in entries:
        if entry in bucket:
            del bucket[entry]
            entry.expire()
            yield
