"""What a start of an observation returns: awaited it starts, as an async context manager it starts and ends."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol

import anyio

from ._observation import ObservationStatus, TraceContext


class _Ends(Protocol):
    """The part of a provider that ends observations."""

    async def end_observation(self, context: TraceContext, status: ObservationStatus = "ok") -> None:
        """See `TracingProvider.end_observation`."""
        ...

    async def set_error(self, context: TraceContext, error: Exception) -> None:
        """See `TracingProvider.set_error`."""
        ...


class Starting(AbstractAsyncContextManager[TraceContext], Awaitable[TraceContext]):
    """An observation that is about to start: ``await`` starts it, ``async with`` starts and ends it.

    If the block raises an exception, the observation is ended with it and the status ``error`` (``cancelled``, if the
    block was cancelled), and the exception goes on.

    Args:
        provider: Ends it.
        begin: Starts it, and returns its context.
    """

    def __init__(self, provider: _Ends, begin: Callable[[], Awaitable[TraceContext]]) -> None:
        self._provider = provider
        self._begin = begin
        self._context: TraceContext | None = None

    def __await__(self) -> Generator[object, object, TraceContext]:
        return self._begin().__await__()

    async def __aenter__(self) -> TraceContext:
        self._context = context = await self._begin()
        return context

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        context = self._context
        if context is None:
            return
        if error is None:
            await self._provider.end_observation(context, "ok")
            return
        with anyio.CancelScope(shield=True):
            if isinstance(error, Exception):
                await self._provider.set_error(context, error)
            await self._provider.end_observation(context, "error" if isinstance(error, Exception) else "cancelled")
