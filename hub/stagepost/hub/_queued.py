"""A slow observer, in a thread of its own."""

from collections import deque
from threading import Condition, Thread
from types import TracebackType
from typing import Final, Self

from ._emitter import Emitter, Relaying
from ._limits import count
from ._observer import Event, Level, Observer

_LIMIT: Final = 10_000


class Queued(Relaying):
    """Runs an observer that is slow, or blocks, in a thread: events wait for it in a bounded queue.

    If it cannot keep up, the newest events are dropped and counted. The thread starts with the first event and is a
    daemon; `close`, or leaving a ``with`` block, waits until all queued events are processed.

    Args:
        observer: The observer. It is called in one thread only, not that of the hub.
        limit: How many events may wait.

    Attributes:
        dropped: How many events were dropped.
        emitters: The emitter to the observer.
    """

    __slots__ = ("_busy", "_changed", "_closed", "_emitter", "_events", "_limit", "_thread", "dropped", "emitters")

    def __init__(self, observer: Observer, *, limit: int = _LIMIT) -> None:
        self.dropped = 0
        self._emitter = Emitter(observer)
        self.emitters = (self._emitter,)
        self._limit = count("limit", limit)
        self._events: deque[Event] = deque()
        self._changed = Condition()
        self._closed = False
        self._busy = False
        self._thread: Thread | None = None

    @property
    def failures(self) -> int:
        """The number of events on which the observer failed."""
        return self._emitter.failures

    def wants(self, level: Level, /) -> bool:
        """Whether the observer wants events of a level."""
        return self._emitter.wants(level)

    def on_event(self, event: Event, /) -> None:
        """Queue the event; never waits."""
        with self._changed:
            if self._closed or len(self._events) >= self._limit:
                self.dropped += 1
                return
            self._events.append(event)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="stagepost observer", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self, timeout: float | None = None) -> bool:
        """Block until all queued events are processed; False if that took too long."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._events and not self._busy, timeout)

    def close(self, timeout: float | None = 10.0) -> bool:
        """Take no more events and block until all queued ones are processed; False if that took too long."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        return self.flush(timeout)

    def __enter__(self) -> Self:
        """Use it for a block."""
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._events or self._closed)
                if not self._events:
                    return
                event = self._events.popleft()
                self._busy = True
            self._emitter.emit(event)
