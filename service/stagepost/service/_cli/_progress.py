"""How far a command is, while somebody looks: one line on standard error that is gone in the end."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from ._screen import Screen

Progress: TypeAlias = Callable[[int, int], Awaitable[None]]

_CLEAR = "\r\x1b[K"


@asynccontextmanager
async def counting(screen: Screen, what: str) -> AsyncIterator[Progress]:
    """Show how many of how many are done, on a terminal.

    Args:
        screen: The command's output.
        what: What is counted.
    """
    is_seen = sys.stderr.isatty() and not screen.as_json

    async def progress(done: int, total: int) -> None:
        if is_seen:
            sys.stderr.write(f"{_CLEAR}{done:,} of {total:,} {what}")
            sys.stderr.flush()

    try:
        yield progress
    finally:
        if is_seen:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
