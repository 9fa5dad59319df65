"""The reader's end of a streamed reply."""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import get_ident
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from anyio import BusyResourceError

from stagepost._dataclasses import dataclass

from ._engine import Engine
from ._envelope import Envelope, EnvelopeState
from ._expect import Expected, matches
from ._lifecycle import Alarm
from ._message import MessageType, Priority
from ._origin import Origin
from ._router import Router, terms_of
from ._sending import Stamped
from ._window import Streamed, Window
from .errors import RequestTimeout, UnexpectedReply

PartT_co = TypeVar("PartT_co", covariant=True)

_DONE: Final = (EnvelopeState.ENDED, EnvelopeState.TURNED_AWAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a reader has asked for.

    Attributes:
        wanted: What is expected of each part, parsed.
        part_timeout: How long each part may take, in seconds.
        window: How many parts may wait for the reader.
    """

    recipient: str
    payload: object
    expect: object
    wanted: type | Expected
    timeout: float
    part_timeout: float
    window: float
    headers: Mapping[str, str] | None
    priority: Priority


class ReplyStream(Generic[PartT_co]):
    """The parts of a streamed reply, as an async iterator; see `Hub.stream`.

    The request is sent when the first part is read. If the reader leaves, by the end of its loop, `aclose`, the end of
    an ``async with`` block around it, or because its task was cancelled, the handler is cancelled. It has one reader at
    a time.
    """

    __slots__ = (
        "_engine",
        "_envelope",
        "_is_late",
        "_is_opening",
        "_is_over",
        "_order",
        "_origin",
        "_router",
        "_sender",
        "_window",
    )

    def __init__(
        self, engine: Engine, router: Router, order: Order, sender: str | None, origin: Callable[[], Origin]
    ) -> None:
        self._envelope: Envelope | None = None
        self._engine = engine
        self._router = router
        self._order = order
        self._sender = sender
        self._origin = origin  # what it comes from is known when the request is sent
        self._window = Window(order.window, engine.new_waiter)
        self._is_late = self._is_opening = self._is_over = False

    def __aiter__(self) -> Self:
        """Iterate over the parts."""
        return self

    async def __anext__(self) -> PartT_co:
        """The next part; waits until there is one.

        Raises:
            DeliveryError: The reply has ended by this error, after all parts before it.
            BusyResourceError: Another task waits for a part.
            WrongThread: The hub was entered in another thread or event loop.
        """
        if not self._window.parts or get_ident() != self._engine.thread:
            await self._wait()
        part: Any = self._window.take()
        order = self._order
        if type(part) is not order.wanted and not matches(part, order.wanted):
            self.give_up()
            raise UnexpectedReply(order.recipient, order.expect, part)
        return part  # type: ignore[no-any-return]  # checked above, as far as it can be

    async def aclose(self) -> None:
        """Read no more: the handler is cancelled, if it still runs and its agent was not registered with ``detach``.

        Raises:
            WrongThread: The hub was entered in another thread or event loop.
        """
        self._engine.check_here("aclose")
        self.give_up()

    async def __aenter__(self) -> Self:
        """Read the parts inside the block."""
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Read no more."""
        await self.aclose()

    def __del__(self) -> None:
        """Nobody reads any more. This may run anywhere, in the middle of anything."""
        envelope = self._envelope
        if envelope is not None and (envelope.last or envelope).state not in _DONE:
            with suppress(RuntimeError):  # the loop has ended
                self._engine.call_soon(envelope.give_up)

    async def take_all(self) -> list[PartT_co]:
        """The next part and those that wait after it, none at the end; not for callers of a hub."""
        wanted = self._order.wanted
        try:
            parts = [await anext(self)]
        except StopAsyncIteration:
            return []
        while self._window.parts and matches(self._window.parts[0], wanted):
            parts.append(await anext(self))
        return parts

    def give_up(self) -> None:
        """Read no more; not for callers of a hub, who have `aclose`."""
        self._is_over = True
        self._window.parts.clear()
        envelope, self._envelope = self._envelope, None
        if envelope is not None:
            envelope.give_up()
        self._window.set_result(None)

    async def _wait(self) -> None:
        """Return once there is a part."""
        engine = self._engine
        engine.check_here("stream")
        await engine.time_slice.take()
        if self._is_opening:
            raise BusyResourceError("reading from")
        if self._envelope is None and not self._is_over:
            self._is_opening = True
            try:
                await self._open()
            except BaseException:
                self.give_up()
                raise
            finally:
                self._is_opening = False
        window = self._window
        while not window.parts:
            if self._is_over:
                raise StopAsyncIteration
            if window.is_over:
                self._settle()
            else:
                await self._next()

    async def _open(self) -> None:
        """Send the request, through the layers around everything that is sent."""
        sending, order = self._router.sending, self._order
        if sending is None:
            self._send(order.headers)
            return
        result = await sending(
            self._send_on,
            order.payload,
            order.headers,
            type=MessageType.REQUEST,
            recipient=order.recipient,
            sender=self._sender,
        )
        if result is not self and not self._is_over:  # a layer has a reply of its own
            self.give_up()
            self._window.parts.append(result)

    async def _send_on(self, *, headers: Stamped) -> "ReplyStream[PartT_co]":
        if not self._is_over:  # the reader has left while the layers were at work
            self._send(headers)
        return self

    def _send(self, headers: Mapping[str, str] | None) -> None:
        order, former = self._order, self._envelope
        if former is not None:  # a layer tries again
            former.give_up()
            self._window = Window(order.window, self._engine.new_waiter)
        terms = terms_of(headers, order.priority)
        self._envelope, _ = self._router.request(
            order.recipient, order.payload, self._origin(), terms, order.timeout, self._window
        )

    def _settle(self) -> None:
        """The handling has ended, and so does the stream, perhaps after one more part: the reply of a plain handler."""
        envelope, self._envelope = self._envelope, None
        self._is_over = True
        assert envelope is not None  # noqa: S101 - it is there until the stream is over
        debtor = envelope.last or envelope
        if debtor.error is not None or type(debtor.reply) is not Streamed:
            order = self._order
            self._window.parts.append(self._router.reply_to(envelope, order.expect, order.wanted))

    async def _next(self) -> None:
        """Wait for the next part, or the end of the stream."""
        window, engine, order = self._window, self._engine, self._order
        if window.reader is not None:
            raise BusyResourceError("reading from")
        alarm, bucket = Alarm(self._note_late), None
        if order.part_timeout < math.inf:
            bucket = engine.deadlines.add(alarm, engine.stamps.clock() + order.part_timeout)
        try:
            await window.next()
        except BaseException:
            self.give_up()
            raise
        finally:
            if bucket is not None:
                bucket.pop(alarm, None)
        if self._is_late and not (window.parts or window.is_over):
            assert self._envelope is not None  # noqa: S101 - it is there until the stream is over
            stage = (self._envelope.last or self._envelope).stage
            self.give_up()
            raise RequestTimeout(order.recipient, order.part_timeout, "part" if stage == "handler" else stage)

    def _note_late(self) -> None:
        self._is_late = True
        self._window.wake_reader()
