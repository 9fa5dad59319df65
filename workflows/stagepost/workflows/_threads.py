"""Functions of users in worker threads."""

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, TypeVar

import anyio.to_thread

ResultT = TypeVar("ResultT")


async def in_thread(function: Callable[..., ResultT], *args: object, abandon: bool = False) -> ResultT:
    """Call a function in a worker thread. Whatever it raises or returns arrives, of any class and kind.

    A future would not carry all of that: on asyncio `GeneratorExit` tears the waiting coroutines apart and
    `StopIteration` becomes another error, and trio takes no coroutines.

    Args:
        function: What to call.
        *args: What with.
        abandon: Leave the thread behind when the task is cancelled, instead of waiting for it.
    """
    outcome: Callable[[], ResultT]
    outcome = await anyio.to_thread.run_sync(_outcome_of, function, args, abandon_on_cancel=abandon)
    return outcome()


def _outcome_of(function: Callable[..., Any], args: tuple[object, ...]) -> Callable[[], Any]:
    """What gives a function's result, or raises its error, in the task that asked."""
    try:
        result = function(*args)
    except BaseException as error:  # noqa: BLE001  # raised again in the task
        return partial(_raise, error)
    return lambda: result


def _raise(error: BaseException) -> NoReturn:
    try:
        raise error
    finally:
        del error  # else it would hold the frame that holds it
