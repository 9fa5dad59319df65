"""A run of an agent in memory that is heard while it works."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from time import time
from typing import Any

import anyio

from stagepost.workflows import MemoryRoom

from .._delegation._result import AgentResult
from .._loop._loop import AgentLoop
from .._loop._session import Session
from .._stream._finding import forms_of, loops_below
from .._stream._stream import Hearing


class _Working:
    """A run in memory, worked on by a task of its own.

    Args:
        run: Works on it.
    """

    def __init__(self, run: Callable[[], Awaitable[AgentResult[Any]]]) -> None:
        self._run = run
        self._ended = anyio.Event()
        self._result: AgentResult[Any] | None = None
        self.error: BaseException | None = None

    async def work(self) -> None:
        """Work on it to its end."""
        try:
            self._result = await self._run()
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001  # what a task group would wrap is raised where it is awaited
            self.error = error
        finally:
            self._ended.set()

    async def made(self) -> Callable[[], AgentResult[Any]]:
        """What gives its result, once it has ended."""
        await self._ended.wait()
        if self._result is None:
            raise self.error or RuntimeError("the run was cancelled")
        result = self._result
        return lambda: result


@asynccontextmanager
async def heard_in_memory(
    loop: AgentLoop,
    opened: AbstractAsyncContextManager[Session],
    run: Callable[[Session, MemoryRoom], Awaitable[AgentResult[Any]]],
    buffer: int,
) -> AsyncIterator[Hearing[Any]]:
    """Run an agent's loop, and listen to it; leaving the block cancels the run.

    Args:
        loop: The loop.
        opened: Opens what it needs, for as long as it runs.
        run: Runs it.
        buffer: How many tokens are kept for a slow reader.
    """
    room = MemoryRoom()
    async with opened as session:
        working = _Working(partial(run, session, room))
        async with anyio.create_task_group() as group:
            with room.listen(buffer=buffer) as listening:
                group.start_soon(working.work)
                yield Hearing(
                    task_id=room.run_id,
                    name=loop.name,
                    listening=listening,
                    loop_of=loops_below(loop),
                    form_of=forms_of(loop),
                    clock=time,
                    mask=None,
                    result=working.made,
                    left_with=lambda: None,
                )
            group.cancel_scope.cancel()
    if working.error is not None and not isinstance(working.error, Exception):
        raise working.error  # such as KeyboardInterrupt, which is nobody's failure
