"""Middleware: layers around the handling of every message."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

ContextT_contra = TypeVar("ContextT_contra", contravariant=True)
ContextT = TypeVar("ContextT")

Proceed: TypeAlias = Callable[[], Awaitable[object]]
"""What a middleware awaits to pass the message on to the next layer, and finally to the handler. It returns the
handler's result."""


class Middleware(Protocol[ContextT_contra]):
    """A layer: an async function that awaits ``proceed()`` and returns the reply.

    It may do something before and after, change the reply, raise instead, or not proceed at all: its result is the
    reply.
    """

    async def __call__(self, context: ContextT_contra, proceed: Proceed, /) -> object:
        """Handle a message, usually by awaiting ``proceed()``."""


class Onion(Generic[ContextT]):
    """Several layers as one function, the first one outside."""

    def __init__(self, layers: Sequence[Middleware[ContextT]]) -> None:
        self._layers = tuple(layers)

    async def __call__(self, context: ContextT, core: Callable[[], Coroutine[Any, Any, object]]) -> object:
        """Pass a message through all layers to the core."""
        return await self._from(0, context, core)

    async def _from(self, depth: int, context: ContextT, core: Callable[[], Coroutine[Any, Any, object]]) -> object:
        if depth == len(self._layers):
            return await core()
        return await self._layers[depth](context, lambda: self._from(depth + 1, context, core))
