"""How messages find their recipient."""

from collections.abc import Coroutine, Mapping
from threading import get_ident
from typing import Any, Final

from ._arguments import check_priority, check_text
from ._callers import caller_on
from ._containment import class_name
from ._desk import Desk
from ._directory import Directory
from ._engine import Engine
from ._expect import Expected, matches
from ._headers import NO_HEADERS, read_headers
from ._ledger import Refusal
from ._limits import TIMEOUT, Duration, seconds
from ._message import MessageType, Priority
from ._origin import OUTSIDE, Cause, Origin, origin_within
from ._parcel import NO_TRAIL, STANDARD, Parcel, State, Terms, Trail
from ._running import running
from ._stamps import Stamps
from ._turns import LOOK_EVERY, Turns
from ._wake import Waiter
from .errors import (
    AlreadyForwarded,
    DeliveryError,
    HubError,
    RequestCycle,
    RequestTimeout,
    UnexpectedReply,
    WrongThread,
)

_FORWARD_PATIENCE: Final = 30.0
_NORMAL: Final = Priority.NORMAL
_NOWHERE: Final = (OUTSIDE.sender, OUTSIDE.trail)
_REQUEST: Final = MessageType.REQUEST
_NOTIFICATION: Final = MessageType.NOTIFICATION


class Router:
    """Takes messages from senders to desks."""

    __slots__ = ("_directory", "_engine")

    def __init__(self, directory: Directory, engine: Engine) -> None:
        self._directory = directory
        self._engine = engine

    @property
    def stamps(self) -> Stamps:
        """The clock and the ids of its messages."""
        return self._engine.stamps

    @property
    def turns(self) -> Turns:
        """When others get their turn."""
        return self._engine.turns

    def origin(self, sender: str | None, trace: str | None, cause: Cause | None, *, asks: bool = False) -> Origin:
        """Where a message comes from that code sends without a context: from the message being handled, if one is."""
        sender = None if sender is None else check_text("sender", sender)
        trace = None if trace is None else check_text("trace", trace)
        parcel = running()
        if parcel is None or parcel.worker is None or parcel.worker.engine is not self._engine:
            origin = OUTSIDE if sender is None else Origin(sender)
        else:
            origin = origin_within(parcel, sender, self.stamps, asks=asks)
        return origin.because(cause, trace)

    def send(  # noqa: PLR0917 - keywords would double the cost of the call
        self,
        recipient: str,
        payload: object,
        origin: Origin,
        terms: Terms,
        timeout: Duration | None,
        ttl: Duration | None,
    ) -> Coroutine[Any, Any, None] | None:
        """Deliver a one-way message.

        Returns:
            What the sender has to await, most often nothing. It waits for room, or lets other tasks have their turn.
        """
        if timeout is not TIMEOUT:
            timeout = seconds(timeout, "timeout")
        if ttl is not None:
            ttl = seconds(ttl, "ttl")
        engine = self._engine
        try:
            # `_address` without the call, where everything is as it mostly is: it costs as much as the look-ups.
            registration = self._directory.reachable.get(recipient) if type(recipient) is str else None
            if registration is None or origin is not OUTSIDE or get_ident() != engine.thread:
                parcel, desk = self._address(recipient, payload, _NOTIFICATION, origin, terms)
            else:
                kind, handlers = type(payload), registration.handlers
                handler = handlers.exact.get(kind) or handlers.find(recipient, kind)
                desk = registration.desk or registration.open_desk(engine)
                stamps = engine.stamps
                stamps.count += 1
                new_parcel, clock = engine.new_parcel, stamps.clock
                parcel = new_parcel(desk, handler, payload, _NOTIFICATION, None, terms, NO_TRAIL, stamps.count, clock())
            if ttl is not None:
                parcel.deadline = parcel.sent + ttl
            rest = None if desk.accept(parcel) else desk.line_up(parcel, timeout)
        except HubError as error:
            self.note_refusal(error, recipient, payload, _NOTIFICATION, origin)
            raise
        if rest is not None:
            return self._in_line(parcel, rest)
        if ttl is not None:
            desk.arm(parcel)
        return None if parcel.number % LOOK_EVERY else engine.turns.after_send(parcel.number)

    def request(
        self,
        recipient: str,
        payload: object,
        origin: Origin,
        terms: Terms,
        timeout: Duration | None,
    ) -> tuple[Parcel, Waiter]:
        """Deliver a request.

        Returns:
            The parcel, and what the sender has to await until `reply_to` it is there. If that fails, the sender has to
            `give_up` the parcel.
        """
        patience = TIMEOUT if timeout is TIMEOUT else seconds(timeout, "timeout")
        try:
            parcel, desk = self._address(recipient, payload, _REQUEST, origin, terms)
            sent = parcel.sent
            parcel.deadline = due = sent + patience
            if origin is not OUTSIDE:
                parcel.deadline = due = min(due, origin.deadline)
                if due > sent and recipient in origin.trail.chain and desk.all_busy:
                    raise RequestCycle(recipient, origin.trail.chain)
            if due <= sent:
                raise RequestTimeout(recipient, max(0.0, due - sent), "start")
            return parcel, desk.ask(parcel)
        except HubError as error:
            self.note_refusal(error, recipient, payload, _REQUEST, origin)
            raise

    def forward(self, parcel: Parcel, recipient: str, payload: object) -> Coroutine[Any, Any, None] | None:
        """Hand a message on to another agent, and with a request the obligation to answer it.

        Once a request was answered there is no such obligation any more: it goes on as a one-way message.

        Returns:
            What there is to await, as with `send`.
        """
        if parcel.is_forwarded:
            raise AlreadyForwarded(recipient)
        within = parcel.recipient.id, parcel.number
        trail = Trail(parcel.id(self.stamps), parcel.trace(self.stamps), parcel.trail.chain, within)
        is_running = parcel.state is State.RUNNING
        type_ = parcel.type if is_running else _NOTIFICATION
        origin = Origin(parcel.sender, trail, inside=is_running)
        try:
            successor, desk = self._address(recipient, payload, type_, origin, parcel.terms)
            if type_ is _REQUEST:
                if recipient in trail.chain and parcel.waiter is not None and desk.all_busy:
                    raise RequestCycle(recipient, trail.chain)
                desk.take_over(parcel, successor)
                return None
            if parcel.type is not _REQUEST:
                successor.deadline = parcel.deadline
            rest = None if desk.accept(successor) else desk.line_up(successor, _FORWARD_PATIENCE)
        except HubError as error:
            self.note_refusal(error, recipient, payload, type_, origin)
            raise
        return None if rest is None else self._in_line(successor, rest)

    def reply_to(self, parcel: Parcel, expect: object, wanted: type | Expected) -> object:
        """The reply to a request, if it is what its sender expects.

        Args:
            parcel: The request.
            expect: What the sender said.
            wanted: What that stands for.

        Raises:
            DeliveryError: There is no reply.
            UnexpectedReply: It is something else.
        """
        debtor = parcel.last or parcel
        if debtor.error is not None:
            try:
                debtor.raise_refusal()
            except DeliveryError as error:
                self.note_unaccepted(error, parcel)
                raise
        reply = debtor.reply
        if type(reply) is wanted or matches(reply, wanted):
            return reply
        raise UnexpectedReply(parcel.recipient.id, expect, reply)

    def note_refusal(
        self,
        error: HubError,
        recipient: object,
        payload: object,
        type_: MessageType,
        origin: Origin,
        *,
        topic: str | None = None,
    ) -> None:
        """Count a message that was refused."""
        self._directory.note_refusal(recipient)
        name = recipient if isinstance(recipient, str) else class_name(type(recipient))
        self._engine.ledger.refuse(Refusal(type_, origin.sender, name, payload, error, topic, origin.trail))

    async def _in_line(self, parcel: Parcel, rest: Coroutine[Any, Any, None]) -> None:
        """Wait for room."""
        try:
            await rest
        except HubError as error:
            self.note_unaccepted(error, parcel)
            raise

    def note_unaccepted(self, error: HubError, parcel: Parcel) -> None:
        """Count a message that was refused while it waited for room; one that was accepted ends otherwise."""
        if parcel.was_refused_by(error):
            origin, topic = Origin(parcel.sender, parcel.trail), parcel.terms.topic
            self.note_refusal(error, parcel.recipient.id, parcel.payload, parcel.type, origin, topic=topic)

    def _address(
        self, recipient: str, payload: object, type_: MessageType, origin: Origin, terms: Terms
    ) -> tuple[Parcel, Desk]:
        engine = self._engine
        if get_ident() != engine.thread:
            raise WrongThread(engine.hub, "request" if type_ is _REQUEST else "send")
        try:
            registration = self._directory.reachable.get(recipient)
        except TypeError:  # what cannot be hashed is no id, as `find` will say
            registration = None
        if registration is None:
            registration = self._directory.find(recipient, inside=origin.inside or self.is_inside())
        payload_class = type(payload)
        handlers = registration.handlers
        handler = handlers.exact.get(payload_class) or handlers.find(recipient, payload_class)
        desk = registration.desk or registration.open_desk(engine)
        stamps = engine.stamps
        stamps.count += 1
        # Attributes that are called but no methods, and fields of a named tuple, cost some 100 instructions each.
        new_parcel, clock = engine.new_parcel, stamps.clock
        sender, trail = _NOWHERE if origin is OUTSIDE else (origin.sender, origin.trail)
        return new_parcel(desk, handler, payload, type_, sender, terms, trail, stamps.count, clock()), desk

    def is_inside(self) -> bool:
        """Whether a handler or a hook of this hub runs this code, or has started the task that does."""
        return caller_on(self._engine) is not None


def terms_of(headers: Mapping[str, str] | None, priority: Priority, topic: str | None = None) -> Terms:
    """What the options of a sender say about a message."""
    if headers is None and priority is _NORMAL and topic is None:
        return STANDARD
    return Terms(NO_HEADERS if headers is None else read_headers(headers), check_priority(priority), topic)
