"""What is told to whoever reads a served workflow as a stream."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol, TypeAlias


class ToldRun(Protocol):
    """A run, as far as it is told."""

    def stream(self) -> AbstractAsyncContextManager[AsyncIterator[object]]:
        """What becomes of it, part by part."""
        ...


BeginTold: TypeAlias = Callable[[Callable[[str], None]], Awaitable[Any]]
"""Starts a run, or finds it. Before, it calls its argument with the id that the run will have, so that somebody can
listen to it from its first step."""


@asynccontextmanager
async def told_run(begin: BeginTold) -> AsyncGenerator[AsyncIterator[object], None]:
    """The stream of a run of any workflow."""
    run: ToldRun = await begin(lambda _: None)
    async with run.stream() as stream:
        yield stream
