"""Handlers that are generators: they run in the task of their worker, and their parts go to the reader."""

from collections.abc import AsyncGenerator, Generator
from typing import Any, TypeAlias

from anyio.lowlevel import checkpoint

from ._engine import Engine
from ._envelope import Envelope
from ._message import MessageType
from ._time_slice import LOOK_EVERY
from ._window import Streamed, Window
from .errors import StreamedReply

AnyGenerator: TypeAlias = AsyncGenerator[Any, Any] | Generator[Any, Any, Any]


async def stream_out(engine: Engine, envelope: Envelope, generator: AnyGenerator) -> object:
    """Run a handler's generator to its end; its parts go to the reader, if somebody reads them.

    For the generator a ``yield`` is like an ``await``: it waits for room in the window, lets other tasks run now and
    then, and raises what is raised there, usually a cancellation. So nothing of it ever runs in another task, and a
    cancel scope or a task group in it works as in any other handler.

    Raises:
        StreamedReply: The requester waits for one reply.
    """
    steps = generator if isinstance(generator, AsyncGenerator) else _Steps(generator)
    if envelope.type is MessageType.REQUEST and not isinstance(envelope.waiter, Window | None):
        await steps.aclose()
        raise StreamedReply(envelope.recipient.id, envelope.handler.name)
    streamed = Streamed()
    thrown: BaseException | None = None
    try:
        while True:
            try:
                part = await (steps.__anext__() if thrown is None else steps.athrow(thrown))
            except StopAsyncIteration:
                return streamed if envelope.type is MessageType.REQUEST else None
            if thrown is not None and envelope.worker is not None and envelope.worker.is_cancelled:
                await steps.aclose()
                raise thrown
            thrown = await _hand_over(engine, envelope, part, streamed)
    finally:
        thrown = None  # it would keep this frame alive by its traceback, and be kept alive by it


async def _hand_over(engine: Engine, envelope: Envelope, part: object, streamed: Streamed) -> BaseException | None:
    """Wait for room for a part, and add it.

    Returns:
        What was raised meanwhile; the part was not added then.
    """
    try:
        if engine.time_slice.spend(LOOK_EVERY):
            await engine.time_slice.next()
        while isinstance(window := envelope.waiter, Window):
            if len(window.parts) < window.limit:
                window.add(part)
                break
            await window.room()
        else:  # nobody reads: a one-way message, or a detached handler whose reader has left
            if envelope.worker is not None and envelope.worker.is_cancelled:
                await checkpoint()
    except BaseException as error:  # noqa: BLE001 - it is raised where the generator yields
        return error
    streamed.parts += 1
    engine.account.parts += 1
    envelope.recipient.tally.parts += 1
    return None


class _Steps:
    """A generator with the interface of an async generator."""

    __slots__ = ("_generator",)

    def __init__(self, generator: Generator[Any, Any, Any]) -> None:
        self._generator = generator

    async def __anext__(self) -> object:
        try:
            return next(self._generator)
        except StopIteration:
            raise StopAsyncIteration from None

    async def athrow(self, error: BaseException) -> object:
        try:
            return self._generator.throw(error)
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        self._generator.close()
