"""How late a task gets its turn that runs beside something else."""

import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from anyio import create_task_group
from anyio.lowlevel import checkpoint


@dataclass
class Late:
    """How late the task was that ran beside.

    Attributes:
        most: The longest that it had to wait, in seconds of processor time.
        turns: How often it ran.
    """

    most: float = 0.0
    turns: int = 0


@asynccontextmanager
async def watched() -> AsyncIterator[Late]:
    """Run a task beside the block that wants its turn all the time."""
    late = Late()

    async def tick() -> None:
        last = time.thread_time()
        while True:
            await checkpoint()
            now = time.thread_time()
            late.most, late.turns, last = max(late.most, now - last), late.turns + 1, now

    gc.collect()
    gc.disable()  # a collection is the interpreter's pause, not a path of the hub
    try:
        async with create_task_group() as tasks:
            tasks.start_soon(tick)
            await checkpoint()
            yield late
            await checkpoint()
            tasks.cancel_scope.cancel()
    finally:
        gc.enable()
