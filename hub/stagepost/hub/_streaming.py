"""Requests whose replies are streams, without a handler's context and with one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from anyio import CancelScope

from ._arguments import check_cause, check_priority, check_text
from ._asking import AskingContext
from ._engine import Engine
from ._expect import expected
from ._headers import read_headers
from ._limits import TIMEOUT, Duration, count, seconds
from ._message import Priority
from ._origin import Cause
from ._reply_stream import Order, ReplyStream
from ._router import Router
from ._window import WINDOW, Window
from .errors import HubNotStarted

if TYPE_CHECKING:
    from typing_extensions import TypeForm

PartT = TypeVar("PartT")


class Streaming:
    """The part of a hub that asks for streamed replies."""

    _engine: Engine | None
    _name: str
    _router: Router | None

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
    ) -> ReplyStream[PartT]: ...
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
    ) -> ReplyStream[PartT]: ...
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
    ) -> ReplyStream[object]: ...
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
    ) -> ReplyStream[Any]:
        """Send a request and read the reply in parts: ``async for part in hub.stream("agent", payload):``.

        The recipient's handler is a generator, async or not, and each value that it yields is a part. The reply of any
        other handler is a stream of one part. The request is sent when the first part is read; what would be raised by
        `request` is raised there, or, if the handler fails later, after the parts that came before.

        A part that nobody has read yet waits in a window. When that is full, the handler waits where it yields. Leaving
        the loop cancels the handler, as giving up a request does; so does the end of the time.

        Args:
            recipient: The agent's id.
            payload: The payload; shared, not copied.
            expect: The class that each part must have; see `request`.
            timeout: How long the whole reply may take, including the wait for room and the time that its reader takes;
                None for no limit.
            part_timeout: How long to wait for each part once it is asked for; None for no limit.
            window: How many parts may wait for the reader; None for any number.
            sender: The id of the requesting agent. Inside a handler use `Context.stream` instead.
            headers: Text values attached to the message.
            priority: How urgent it is.
            trace: The trace it belongs to.
            cause: The message that led to this one, or its id; see `send`.

        Returns:
            The parts, as an async iterator that may be used as an async context manager, too.

        Raises:
            InvalidArgument: An argument has the wrong type or value.
            HubNotStarted: The hub has not been entered yet.
            DeliveryError: There is no reply, or it ended by an error; raised by the iterator.
        """
        engine, router = self._engine, self._router
        if engine is None or router is None:
            raise HubNotStarted(recipient, self._name)
        for what, value in (("sender", sender), ("trace", trace)):
            if value is not None:
                check_text(what, value)
        if cause is not None:
            check_cause(cause)
        order = _order(recipient, payload, expect, timeout, part_timeout, window, headers, priority)
        return ReplyStream(engine, router, order, sender, partial(router.origin, sender, trace, cause, asks=True))


class StreamingContext(AskingContext):
    """The part of a context that streams."""

    __slots__ = ()

    @property
    def wants_parts(self) -> bool:
        """Whether the requester reads the reply as a stream: for a handler that can do both, stream and reply."""
        return isinstance(self.envelope.waiter, Window)

    @contextmanager
    def while_read(self) -> Iterator[None]:
        """A block that is cancelled as soon as nobody reads this reply as a stream; without a reader, at once.

        For what a detached handler does for its reader only; others are cancelled as a whole.
        """
        with CancelScope() as scope:
            window = self.envelope.waiter
            if isinstance(window, Window):
                window.scopes.add(scope)
                try:
                    yield
                finally:
                    window.scopes.discard(scope)
            else:
                scope.cancel()
                yield

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
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
    ) -> ReplyStream[PartT]: ...
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
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
    ) -> ReplyStream[PartT]: ...
    @overload
    def stream(
        self,
        recipient: str,
        payload: object,
        *,
        timeout: Duration | None = ...,
        part_timeout: Duration | None = ...,
        window: int | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
    ) -> ReplyStream[object]: ...
    def stream(
        self,
        recipient: str,
        payload: object,
        *,
        expect: object = object,
        timeout: Duration | None = TIMEOUT,
        part_timeout: Duration | None = None,
        window: int | None = WINDOW,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> ReplyStream[Any]:
        """Send a request as this agent and read the reply in parts; see `Hub.stream`.

        The deadline of the handled request may shorten the timeout. The agent counts as waiting for the reply until the
        stream has ended.
        """
        order = _order(recipient, payload, expect, timeout, part_timeout, window, headers, priority)
        router, sender = self._router, self.envelope.recipient.id
        return ReplyStream(router.engine, router, order, sender, partial(self._origin, asks=True))


def _order(  # noqa: PLR0917 - the arguments of a call, passed on as they are
    recipient: str,
    payload: object,
    expect: object,
    timeout: Duration | None,
    part_timeout: Duration | None,
    window: int | None,
    headers: Mapping[str, str] | None,
    priority: Priority,
) -> Order:
    """What a reader has asked for, checked."""
    return Order(
        recipient=recipient,
        payload=payload,
        expect=expect,
        wanted=expected(expect),
        timeout=seconds(timeout, "timeout"),
        part_timeout=seconds(part_timeout, "part_timeout"),
        window=count("window", window),
        headers=None if headers is None else read_headers(headers),
        priority=check_priority(priority),
    )
