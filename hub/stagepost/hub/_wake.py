"""What differs between asyncio and trio, and the only module that knows: waiting, the clock, cancellation.

anyio's own primitives are the structure of the hub but cost about a microsecond each, too dear for every message.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
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


class TaskState(Protocol):
    """What an event loop knows of a task."""

    @property
    def cancel_scope(self) -> object:
        """The innermost cancel scope that the task is in."""


class TaskGuard(Protocol):
    """What a task looks like before it runs somebody else's code: finds what that code left in it, and removes it."""

    @property
    def state(self) -> "TaskState":
        """What the event loop knows of the task."""

    @property
    def scope(self) -> object:
        """The innermost cancel scope of the task as it was: another one in its `state` was left open."""

    def close_scopes(self) -> bool:
        """Cancel and close the scopes and task groups that were left open; whether there were any.

        The task must end soon: a generator that is closed later may still close such a group in the task's name.
        """

    async def drop_cancellation(self) -> bool:
        """Undo `asyncio.Task.cancel`, which no scope has called; whether it was called. Call it outside of scopes."""


class Backend(NamedTuple):
    """What the hub needs from an event loop that anyio does not offer, or not as fast."""

    new_waiter: Callable[[], Waiter]
    clock: Callable[[], float]
    wait_until: Callable[[Waiter, float], Coroutine[Any, Any, None]]
    new_guard: Callable[[], TaskGuard]
    watch_cancel: Callable[[Callable[[], None]], None]
    is_here: Callable[[], bool]
    is_abandoned: Callable[[], bool]


def current_backend() -> Backend:
    """Return that of the event loop that runs now."""
    if get_cancelled_exc_class() is asyncio.CancelledError:
        return _asyncio_backend()
    return _trio_backend()


def cancellation() -> type[BaseException]:
    """The class of the error by which the event loop that runs now cancels a task."""
    return get_cancelled_exc_class()


def is_cancelled(*, by_scope: bool = False) -> bool | None:
    """Whether the running task is being cancelled, by a cancel scope or by `asyncio.Task.cancel`.

    Args:
        by_scope: Leave the latter aside.

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
    natively = task is not None and not by_scope and task.cancelling() > 0
    return natively or current_effective_deadline() == -math.inf


def _current_task() -> Any:
    """The task of asyncio that runs, with the private parts that typing does not know."""
    return asyncio.current_task()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _clock_of(loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    """The loop's clock, without the call in between if it is the usual one."""
    usual = isinstance(loop, asyncio.BaseEventLoop) and type(loop).time is asyncio.BaseEventLoop.time
    return monotonic if usual else loop.time


def _wait_until(clock: Callable[[], float]) -> Callable[[Waiter, float], Coroutine[Any, Any, None]]:
    async def wait_until(waiter: Waiter, moment: float) -> None:
        with move_on_after(moment - clock()):
            await waiter

    return wait_until


def _asyncio_backend() -> Backend:
    from anyio._backends._asyncio import _task_states  # noqa: PLC0415 - loaded by now; anyio tells it nowhere

    class AsyncioGuard:
        """A guard of an asyncio task that is inside a cancel scope."""

        __slots__ = ("_task", "scope", "state")

        def __init__(self) -> None:
            self._task = _current_task()
            self.state = _task_states[self._task]
            self.scope = self.state.cancel_scope

        def close_scopes(self) -> bool:
            state = self.state
            left = state.cancel_scope is not self.scope
            while (scope := state.cancel_scope) is not None and scope is not self.scope:
                scope.cancel()
                scope.__exit__(None, None, None)
            return left

        async def drop_cancellation(self) -> bool:
            task = self._task
            if not (task._must_cancel or task.cancelling()):
                return False
            if task._must_cancel:  # still to come: taken here, or the next await would raise it
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(0)
            while task.cancelling():
                task.uncancel()
            return True

    loop, owner = asyncio.get_running_loop(), _current_task()
    clock = _clock_of(loop)
    return Backend(
        new_waiter=loop.create_future,
        clock=clock,
        wait_until=_wait_until(clock),
        new_guard=AsyncioGuard,
        watch_cancel=_watch_cancel,
        is_here=lambda: _running_loop() is loop,
        is_abandoned=owner.done,
    )


def _watch_cancel(callback: Callable[[], None]) -> None:
    """Be told when somebody cancels the running task: looking after each message would cost 3 % of its way.

    A method of the task is put before that of its class, which all find who have the task, anyio and asyncio included.
    """
    task = _current_task()
    cancel = task.cancel

    def watched(msg: object = None) -> bool:
        callback()
        return bool(cancel(msg))

    task.cancel = watched


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
        new_guard=_trio_guard(),
        watch_cancel=lambda _: None,  # only scopes cancel a task of trio
        is_here=is_here,
        is_abandoned=lambda: False,  # trio lets nobody leave a nursery open
    )


def _trio_guard() -> Callable[[], TaskGuard]:
    import trio  # noqa: PLC0415 - as above

    class TrioGuard:
        """A guard of a trio task that has no nursery of its own."""

        __slots__ = ("_task", "scope")

        def __init__(self) -> None:
            self._task = trio.lowlevel.current_task()
            self.scope = self._task._cancel_status

        @property
        def state(self) -> "TrioGuard":
            return self

        @property
        def cancel_scope(self) -> object:
            task = self._task
            return task._child_nurseries[-1] if task._child_nurseries else task._cancel_status

        def close_scopes(self) -> bool:
            task, left = self._task, self.cancel_scope is not self.scope
            while task._child_nurseries:  # as trio does it for a task that ends, which it counts as a failure there
                nursery = task._child_nurseries.pop()
                nursery.cancel_scope.cancel()
                nursery._closed = True
            while task._cancel_status is not self.scope:
                task._cancel_status._scope.__exit__(None, None, None)
            return left

        async def drop_cancellation(self) -> bool:
            return False

    return TrioGuard
