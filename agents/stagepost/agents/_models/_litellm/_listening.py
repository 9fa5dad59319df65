"""Where what we ask and what comes for it is read on the wire."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final

from ._wire import Wire

_WIRE: Final[ContextVar[Wire | None]] = ContextVar("stagepost_wire", default=None)  # of the question just asked
_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"


@contextmanager
def listening(wire: Wire) -> Iterator[None]:
    """Have the requests that are made in this block, and the answers to them, go over a wire."""
    token = _WIRE.set(wire)
    try:
        yield
    finally:
        _WIRE.reset(token)


def listen(transport: Any) -> None:
    """Have answers to our own questions read by their `Wire` before anybody else; those of others are left alone.

    Args:
        transport: The class of httpx's transports through which they come.
    """
    httpx = import_module("httpx")
    inner = transport.handle_async_request
    if getattr(inner, "is_listening", False):
        return

    class Readable(httpx.AsyncByteStream):  # type: ignore[misc, name-defined]  # a class that is not imported here
        """The body of an answer.

        Args:
            body: The body as it comes.
            wire: Who makes it readable.
            in_events: Whether it is a stream of events.
        """

        def __init__(self, body: Any, wire: Wire, *, in_events: bool) -> None:
            self._body = body
            self._wire = wire
            self._in_events = in_events

        async def __aiter__(self) -> AsyncIterator[bytes]:
            if self._in_events:
                async for piece in self._body:
                    yield self._wire.lines(piece)
                yield self._wire.rest()
            else:
                yield self._wire.whole(b"".join([piece async for piece in self._body]))

        async def aclose(self) -> None:
            await self._body.aclose()

    async def listen(self: Any, request: Any) -> Any:
        wire = _WIRE.get()
        if wire is None:
            return await inner(self, request)
        response = await inner(self, _request(httpx, request, wire))
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code == 200 and kind in (_JSON, _EVENTS) and _is_plain(response.headers):  # noqa: PLR2004  # OK
            response.headers.pop("content-length", None)
            response.stream = Readable(response.stream, wire, in_events=kind == _EVENTS)
        return response

    listen.is_listening = True  # type: ignore[attr-defined]  # a mark, for a second import
    transport.handle_async_request = listen


def _request(httpx: Any, request: Any, wire: Wire) -> Any:
    """The request, for an answer that is not compressed, and with the errors of its tools marked."""
    request.headers["accept-encoding"] = "identity"
    try:
        before = request.content
    except httpx.RequestNotRead:
        return request
    after = wire.asked(before)
    if after is before:
        return request
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
    return httpx.Request(request.method, request.url, headers=headers, content=after, extensions=request.extensions)


def _is_plain(headers: Mapping[str, str]) -> bool:
    return headers.get("content-encoding", "identity").lower() == "identity"
