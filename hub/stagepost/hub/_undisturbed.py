"""Waiting in one of the hub's own tasks, which only the hub may cancel."""

from collections.abc import Awaitable, Callable

from ._guards import cancellation, is_cancelled, new_guard
from ._wake import Backend


async def undisturbed(backend: Backend, work: Callable[[], Awaitable[object]]) -> None:
    """Finish an operation that can be restarted, such as a wait.

    Code that knows the task, because it ran there as a hook or listed all tasks, may call `asyncio.Task.cancel`. anyio
    would end the whole hub because of that, so it is undone here. The cancellation passes if the task that entered the
    hub has ended without leaving it: then the event loop is being closed.
    """
    while True:
        try:
            await work()
        except BaseException as error:
            by_scope = is_cancelled(by_scope=True)  # None while the coroutine is being closed without a loop
            if by_scope is not False or not isinstance(error, cancellation()) or backend.is_abandoned():
                raise
            await new_guard().drop_cancellation()
        else:
            return
