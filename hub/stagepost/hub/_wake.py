"""What differs between asyncio and trio, and the only module that knows: how a task waits for another, and the clock.

anyio's own primitives are the structure of the hub but cost about a microsecond each, too dear for every message.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine, Generator
from time import monotonic
from typing import Any, NamedTuple, Protocol

from anyio import current_effective_deadline, get_cancelled_exc_class, move_on_after


class Waiter(Protocol):
    """One task waits by ``await waiter``, another one ends that by `set_result`, once."""

    def __await__(self) -> Generator[object, None, None]:
        """Wait until the result is set."""

    def set_result(self, result: None, /) -> None:
        """Let the waiting task go on."""

    def done(self) -> bool:
        """Whether the wait is over, also by cancellation of the waiting task."""


class Clock(Protocol):
    """Where a hub takes the time from: the event loop, or a test."""

    def now(self) -> float:
        """Seconds, never going back."""

    async def wait_until(self, waiter: Waiter, moment: float, /) -> None:
        """Wait for a waiter, but not longer than until a moment of this clock; infinity for as long as it takes."""


class Backend(NamedTuple):
    """What the hot path needs from an event loop."""

    new_waiter: Callable[[], Waiter]
    clock: Callable[[], float]
    wait_until: Callable[[Waiter, float], Coroutine[Any, Any, None]]

    def with_clock(self, clock: Clock) -> "Backend":
        """The same with the time taken from elsewhere."""
        return self._replace(clock=clock.now, wait_until=clock.wait_until)


def current_backend() -> Backend:
    """Return those of the event loop that runs now."""
    if get_cancelled_exc_class() is asyncio.CancelledError:
        loop = asyncio.get_running_loop()
        return _backend(loop.create_future, _clock_of(loop))
    return _trio_backend()


def cancellation() -> type[BaseException]:
    """The class of the error by which the event loop that runs now cancels a task."""
    return get_cancelled_exc_class()


def is_cancelled() -> bool | None:
    """Whether the running task is being cancelled, by a cancel scope or by `asyncio.Task.cancel`.

    Returns:
        None if no task is running.
    """
    try:
        on_asyncio = get_cancelled_exc_class() is asyncio.CancelledError
        task = asyncio.current_task() if on_asyncio else None
    except RuntimeError:
        return None
    if on_asyncio and task is None:
        return None
    return current_effective_deadline() == -math.inf or (task is not None and task.cancelling() > 0)


def _backend(new_waiter: Callable[[], Waiter], clock: Callable[[], float]) -> Backend:
    async def wait_until(waiter: Waiter, moment: float) -> None:
        with move_on_after(moment - clock()):
            await waiter

    return Backend(new_waiter, clock, wait_until)


def _clock_of(loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    """The loop's clock, without the call in between if it is the usual one."""
    usual = isinstance(loop, asyncio.BaseEventLoop) and type(loop).time is asyncio.BaseEventLoop.time
    return monotonic if usual else loop.time


def _trio_backend() -> Backend:
    import trio  # noqa: PLC0415 - not installed where asyncio is used

    class TrioWaiter:
        """An event in the shape of a future."""

        __slots__ = ("_event",)

        def __init__(self) -> None:
            self._event = trio.Event()

        def __await__(self) -> Generator[object, None, None]:
            return (yield from self._event.wait().__await__())

        def set_result(self, result: None, /) -> None:  # noqa: ARG002 - the signature of a future
            self._event.set()

        def done(self) -> bool:
            return self._event.is_set()

    return _backend(TrioWaiter, trio.current_time)
