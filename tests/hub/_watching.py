"""How late a task gets its turn that runs beside something else."""

import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from anyio import create_task_group
from anyio.lowlevel import checkpoint
from tests.hub._agents import Ping, echo

from stagepost.hub import Hub
from stagepost.hub.testing import idle

LATE: Final = 10_000
"""How many messages may be handled until another task gets its turn. A turn is some hundred, a batch up to 4,000."""
_SAMPLE: Final = 200


@dataclass
class Late:
    """How late the task was that ran beside.

    Attributes:
        seconds: The longest that it had to wait, of processor time.
        message: What one message costs, sent and handled, here and now.
        turns: How often it ran.
    """

    seconds: float = 0.0
    message: float = 0.0
    turns: int = 0

    @property
    def most(self) -> float:
        """The longest that it had to wait, in messages: a slow or a traced interpreter is slow with these, too."""
        return self.seconds / self.message


@asynccontextmanager
async def watched() -> AsyncIterator[Late]:
    """Run a task beside the block that wants its turn all the time."""
    late = Late()

    async def tick() -> None:
        last = time.thread_time()
        while True:
            await checkpoint()
            now = time.thread_time()
            late.seconds, late.turns, last = max(late.seconds, now - last), late.turns + 1, now

    gc.collect()
    gc.disable()  # a collection is the interpreter's pause, not a path of the hub
    try:
        before = await _cost_of_a_message()
        async with create_task_group() as tasks:
            tasks.start_soon(tick)
            await checkpoint()
            yield late
            await checkpoint()
            tasks.cancel_scope.cancel()
        late.message = max(before, await _cost_of_a_message())
    finally:
        gc.enable()


async def _cost_of_a_message() -> float:
    """Seconds of processor time."""
    async with Hub() as hub:
        hub.register("echo", echo, mailbox=None)
        began = time.thread_time()
        for number in range(_SAMPLE):
            await hub.send("echo", Ping(number))
        await idle(hub)
        return (time.thread_time() - began) / _SAMPLE
