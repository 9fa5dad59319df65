"""What waits for the writing thread, and how much of it becomes the next batch.

Usually that is all there is. But where many runs go on at once, all of them wait while the batch is committed, and then
the thread waits while the event loop takes all of them on to their next commit. If that takes longer than a commit,
half of them is saved at a time: while the disk has the one half, the loop works on the other, and from then on they
take turns.
"""

import queue
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Final, Generic, TypeVar

T = TypeVar("T")

LARGEST: Final = 512  # bounds the time that one request can wait for the others of its batch
_WORTH: Final = 16  # a batch of fewer is not halved: the commit itself is what takes time then


class Intake(Generic[T]):
    """Filled by the event loop, emptied by the writing thread.

    Args:
        largest: How many requests make up a batch at most.
        clock: Seconds.

    Attributes:
        put: Lets a request wait for the next batch.
    """

    def __init__(self, *, largest: int = LARGEST, clock: Callable[[], float] = perf_counter) -> None:
        self._queue: queue.SimpleQueue[T | None] = queue.SimpleQueue()
        self.put: Callable[[T], None] = self._queue.put
        self._largest = largest
        self._clock = clock
        self._waiting: list[T] = []
        self._is_closed = False
        self._commit_took = 0.0

    def close(self) -> None:
        """Say that no more will come."""
        self._queue.put(None)

    def take(self, timeout: float | None) -> list[T]:
        """The next batch; empty if there will be none.

        Raises:
            queue.Empty: Nothing has come within so many seconds.
        """
        waited = 0.0 if self._waiting or self._is_closed else self._wait(timeout)
        self._collect()
        size = min(len(self._waiting), self._largest)
        if waited > self._commit_took and size >= _WORTH:
            size //= 2
        batch, self._waiting = self._waiting[:size], self._waiting[size:]
        return batch

    def drain(self) -> list[T]:
        """All that waits, and no longer does."""
        self._collect()
        waiting, self._waiting = self._waiting, []
        return waiting

    def put_back(self, requests: Iterable[T]) -> None:
        """Let requests wait again, before all that have come since."""
        self._waiting[:0] = requests

    def note_commit(self, seconds: float) -> None:
        """Say how long the batch took."""
        self._commit_took = seconds

    def _wait(self, timeout: float | None) -> float:
        since = self._clock()
        self._add(self._queue.get(timeout=timeout))
        return self._clock() - since

    def _collect(self) -> None:
        try:
            while True:
                self._add(self._queue.get_nowait())
        except queue.Empty:
            return

    def _add(self, request: T | None) -> None:
        if request is None:
            self._is_closed = True
        else:
            self._waiting.append(request)
