"""A run of a chain of agents in memory that is heard while it works."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Generic, Self, TypeAlias, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from .._delegation._result import AgentResult
from .._stream._part import StreamPart
from .._stream._stream import TaskStream
from .._stream._text import Spoken
from ..errors import StreamNotOver

ResultT_co = TypeVar("ResultT_co", covariant=True)
Hear: TypeAlias = Callable[[TaskStream[Any]], Awaitable[AgentResult[Any]]]
"""Hands on all parts of an agent's stream, and returns its result."""


class ChainStream(Generic[ResultT_co]):
    """The parts of the agents of a chain, one agent after the other: an async context manager and an async iterator.

    ::

        async with researcher.then(writer).stream("Bees") as stream:
            async for part in stream:
                print(part.agent, part.type)
        print(stream.result.output)

    Each agent's parts are those of its own stream (`TaskStream`), with numbers and a task of its own, and end with
    `TaskCompleted`. If one fails its last part is `TaskFailed`, and the iteration ends.

    Args:
        run: Runs the chain, and has each stream heard.
    """

    def __init__(self, run: Callable[[Hear], Awaitable[ResultT_co]]) -> None:
        self._run = run
        self._block: AbstractAsyncContextManager[MemoryObjectReceiveStream[StreamPart]] | None = None
        self._parts: MemoryObjectReceiveStream[StreamPart] | None = None
        self._outcome: Sequence[ResultT_co] = ()
        self._failure: BaseException | None = None
        self._is_over = False

    @property
    def result(self) -> ResultT_co:
        """What the chain has come to, once its last part was handed out; also after the block.

        Raises:
            StreamNotOver: The last part was not handed out yet.
            ChainedFailure: One of the agents has failed, as `AgentChain.run` would raise it.
        """
        if not self._is_over:
            raise StreamNotOver(None)
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        return self._outcome[0]

    async def __aenter__(self) -> Self:
        """Begin the run.

        Raises:
            RuntimeError: The stream was entered before.
        """
        if self._block is not None:
            raise RuntimeError("a stream is entered once: make another one")
        self._block = self._heard()
        self._parts = await self._block.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._block is not None  # noqa: S101  # it was entered
        if isinstance(error, anyio.get_cancelled_exc_class()):  # it may be that of the task group in there
            return await self._block.__aexit__(kind, error, trace)
        await self._block.__aexit__(None, None, None)  # any other error passes by the task group, which would wrap it
        if self._failure is not None and not isinstance(self._failure, Exception):
            raise self._failure  # such as KeyboardInterrupt, which is nobody's failure
        return None

    def text(self) -> AsyncIterator[str]:
        """The text of the answers of all agents, piece by piece as it arrives; see `TaskStream.text`."""
        return Spoken(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamPart:
        """The next part; cancelling this loses nothing.

        Raises:
            StopAsyncIteration: The last one was handed out.
            RuntimeError: The stream was not entered.
        """
        if self._parts is None:
            raise RuntimeError("enter the stream first: async with agent.then(…).stream(…) as stream")
        try:
            return await self._parts.receive()
        except anyio.EndOfStream:
            self._is_over = True
            raise StopAsyncIteration from None

    @asynccontextmanager
    async def _heard(self) -> AsyncIterator[MemoryObjectReceiveStream[StreamPart]]:
        """A task of its own runs the chain: whoever reads may do so in any scope, and is handed part by part."""
        send, receive = anyio.create_memory_object_stream[StreamPart]()
        with receive:
            async with anyio.create_task_group() as group:
                group.start_soon(self._work, send)
                yield receive
                group.cancel_scope.cancel()

    async def _work(self, send: MemoryObjectSendStream[StreamPart]) -> None:
        async def hear(stream: TaskStream[Any]) -> AgentResult[Any]:
            async with stream:
                async for part in stream:
                    await send.send(part)
            result: AgentResult[Any] = stream.result
            return result

        with send:
            try:
                self._outcome = [await self._run(hear)]
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:  # noqa: BLE001  # what a task group would wrap is raised by `result`
                self._failure = error
