"""Streamed replies for other threads."""

from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from ._limits import TIMEOUT, Duration
from ._message import Priority
from ._origin import Cause
from ._portal_calls import PortalCalls
from ._reply_stream import ReplyStream
from ._window import WINDOW
from .errors import HubStopped

if TYPE_CHECKING:
    from typing_extensions import TypeForm

PartT = TypeVar("PartT")
PartT_co = TypeVar("PartT_co", covariant=True)


class PortalStream(Generic[PartT_co]):
    """The parts of a streamed reply, as an iterator; see `Portal.stream`.

    It crosses into the hub's event loop once for all parts that wait there. It may be used as a context manager, which
    cancels the handler at its end; so does dropping it.
    """

    __slots__ = ("_calls", "_parts", "_recipient", "_stream")

    def __init__(self, calls: PortalCalls, stream: ReplyStream[PartT_co], recipient: str) -> None:
        self._calls = calls
        self._stream = stream
        self._recipient = recipient
        self._parts: deque[PartT_co] = deque()

    def __iter__(self) -> Self:
        """Iterate over the parts."""
        return self

    def __next__(self) -> PartT_co:
        """The next part; waits until there is one.

        Raises:
            DeliveryError: The reply has ended by this error, after all parts before it.
            LoopWouldBlock: An event loop runs in this thread.
        """
        if not self._parts:
            self._parts.extend(self._calls.call("stream", self._stream.take_all, self._recipient))
            if not self._parts:
                raise StopIteration
        return self._parts.popleft()

    def close(self) -> None:
        """Read no more: the handler is cancelled, if it still runs."""
        self._parts.clear()
        with suppress(HubStopped):
            self._calls.call("stream", self._stream.aclose, self._recipient)

    def __enter__(self) -> Self:
        """Read the parts inside the block."""
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Read no more."""
        self.close()


class StreamingPortal(PortalCalls):
    """The part of a portal that asks for streamed replies."""

    __slots__ = ()

    @overload
    def stream(
        self,
        recipient: str,
        payload: object,
        *,
        expect: type[PartT],
        timeout: Duration | None = ...,
        part_timeout: Duration | None = ...,
        window: int | None = ...,
        sender: str | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
        trace: str | None = ...,
        cause: Cause | None = ...,
    ) -> PortalStream[PartT]: ...
    @overload
    def stream(
        self,
        recipient: str,
        payload: object,
        *,
        expect: "TypeForm[PartT]",
        timeout: Duration | None = ...,
        part_timeout: Duration | None = ...,
        window: int | None = ...,
        sender: str | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
        trace: str | None = ...,
        cause: Cause | None = ...,
    ) -> PortalStream[PartT]: ...
    @overload
    def stream(
        self,
        recipient: str,
        payload: object,
        *,
        timeout: Duration | None = ...,
        part_timeout: Duration | None = ...,
        window: int | None = ...,
        sender: str | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
        trace: str | None = ...,
        cause: Cause | None = ...,
    ) -> PortalStream[object]: ...
    def stream(
        self,
        recipient: str,
        payload: object,
        *,
        expect: object = object,
        timeout: Duration | None = TIMEOUT,
        part_timeout: Duration | None = None,
        window: int | None = WINDOW,
        sender: str | None = None,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
        trace: str | None = None,
        cause: Cause | None = None,
    ) -> PortalStream[Any]:
        """Send a request and read the reply in parts; see `Hub.stream`.

        Raises:
            LoopWouldBlock: An event loop runs in this thread; raised by the iterator.
        """
        options = {"sender": sender, "headers": headers, "priority": priority, "trace": trace, "cause": cause}
        limits = {"timeout": timeout, "part_timeout": part_timeout, "window": window}
        stream = self._hub.stream(recipient, payload, expect=expect, **limits, **options)
        return PortalStream(self, stream, recipient)
