"""Differences between asyncio and trio in waiting and clocks; `_guards` has the differences in cancellation.

The hub is structured by anyio's primitives, but they cost about a microsecond each, too much for every message.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Generator
from time import monotonic
from typing import Any, NamedTuple, Protocol

from anyio import get_cancelled_exc_class, move_on_after


class Waiter(Protocol):
    """One task awaits it, another one calls `set_result`, once."""

    def __await__(self) -> Generator[object, None, None]:
        """Wait until the result is set."""

    def set_result(self, result: None, /) -> None:
        """Wake the waiting task."""

    def done(self) -> bool:
        """Whether the wait is over, also through cancellation of the waiting task."""


class Unawaited:
    """Stands in the place of a waiting task; nobody awaits it, what is told here is acted on at once."""

    __slots__ = ()

    def __await__(self) -> Generator[object, None, None]:  # pragma: no cover - nobody awaits it
        """Nothing to wait for."""
        yield None

    def done(self) -> bool:
        """It is told at once."""
        return False


class Clock(Protocol):
    """The clock of a hub: the event loop's, or a test's."""

    def now(self) -> float:
        """Seconds, monotonic."""

    async def wait_until(self, waiter: Waiter, moment: float, /) -> None:
        """Wait for a waiter, at most until a time on this clock; infinity for no limit."""


class Task(Protocol):
    """A task outside all scopes."""

    def cancel(self) -> object:
        """Cancel it once."""


class Backend(NamedTuple):
    """What the hub needs from an event loop and anyio does not offer, or not as fast."""

    new_waiter: Callable[[], Waiter]
    clock: Callable[[], float]
    wait_until: Callable[[Waiter, float], Coroutine[Any, Any, None]]
    is_here: Callable[[], bool]
    is_abandoned: Callable[[], bool]
    call_soon: Callable[[Callable[[], object]], object]
    """Calls a function in a task of the loop, from any thread; a `RuntimeError` if the loop has ended."""


def current_backend() -> Backend:
    """Return the backend of the running event loop."""
    if get_cancelled_exc_class() is asyncio.CancelledError:
        return _asyncio_backend()
    return _trio_backend()


def start_task(
    function: Callable[[], Coroutine[Any, Any, None]], name: str, on_end: Callable[[], object]
) -> Task | None:
    """Start a task that belongs to no task group, and call back when it has ended, even if it never ran.

    Returns:
        The task; None on trio, which has no such tasks.
    """
    if get_cancelled_exc_class() is not asyncio.CancelledError:
        return None
    task = asyncio.get_running_loop().create_task(function(), name=name)
    task.add_done_callback(lambda _: on_end())
    return task


def loop_runs_here() -> bool:
    """Whether an event loop runs in this thread."""
    trio = sys.modules.get("trio")
    return _running_loop() is not None or (trio is not None and trio.lowlevel.in_trio_run())


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _clock_of(loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    """The loop's clock, without the intermediate call if it is the usual one."""
    usual = isinstance(loop, asyncio.BaseEventLoop) and type(loop).time is asyncio.BaseEventLoop.time
    return monotonic if usual else loop.time


def _wait_until(clock: Callable[[], float]) -> Callable[[Waiter, float], Coroutine[Any, Any, None]]:
    async def wait_until(waiter: Waiter, moment: float) -> None:
        with move_on_after(moment - clock()):
            await waiter

    return wait_until


def _asyncio_backend() -> Backend:
    loop, owner = asyncio.get_running_loop(), asyncio.current_task()
    assert owner is not None  # noqa: S101 - a hub is entered by a task
    clock = _clock_of(loop)
    return Backend(
        new_waiter=loop.create_future,
        clock=clock,
        wait_until=_wait_until(clock),
        is_here=lambda: _running_loop() is loop,
        is_abandoned=owner.done,
        call_soon=lambda function: loop.call_soon_threadsafe(lambda: loop.create_task(_call(function))),
    )


async def _call(function: Callable[[], object]) -> None:
    """Call a function in a task: anyio starts others only from there."""
    function()


def _trio_backend() -> Backend:
    import trio  # noqa: PLC0415 - not installed where asyncio is used

    class TrioWaiter:
        """An event with the interface of a future."""

        __slots__ = ("_event",)

        def __init__(self) -> None:
            self._event = trio.Event()

        def __await__(self) -> Generator[object, None, None]:
            return (yield from self._event.wait().__await__())

        def set_result(self, result: None, /) -> None:  # noqa: ARG002 - the signature of a future
            self._event.set()

        def done(self) -> bool:
            return self._event.is_set()

    clock, token = trio.current_time, trio.lowlevel.current_trio_token()

    def is_here() -> bool:
        try:
            return trio.lowlevel.current_trio_token() is token
        except RuntimeError:
            return False

    return Backend(
        new_waiter=TrioWaiter,
        clock=clock,
        wait_until=_wait_until(clock),
        is_here=is_here,
        is_abandoned=lambda: False,  # trio does not allow an open nursery
        call_soon=token.run_sync_soon,
    )
