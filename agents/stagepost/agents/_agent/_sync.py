"""Runs for code that is not async."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import anyio.lowlevel

from ..errors import EventLoopRunning

T = TypeVar("T")


def run_alone(agent: str, run: Callable[[], Awaitable[T]]) -> T:
    """What a run comes to, in an event loop of its own.

    Raises:
        EventLoopRunning: There is one in this thread.
    """
    try:
        anyio.lowlevel.current_token()
    except RuntimeError:  # `NoEventLoopError`, in newer versions
        return anyio.run(run)
    raise EventLoopRunning(agent)
