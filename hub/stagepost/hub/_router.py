"""Routing of messages to their recipients."""

from collections.abc import Coroutine, Mapping
from threading import get_ident
from typing import Any, Final

from ._account import Refusal
from ._agenda import Agenda
from ._arguments import check_cause, check_priority, check_text
from ._callers import caller_on
from ._containment import class_name
from ._directory import Directory
from ._endpoint import Endpoint
from ._engine import Engine
from ._envelope import NO_TRAIL, STANDARD, Envelope, EnvelopeState, Terms, Trail
from ._expect import Expected, matches
from ._headers import NO_HEADERS, read_headers
from ._instance import Instance
from ._limits import TIMEOUT, Duration, seconds
from ._lookout import Lookout
from ._message import MessageType, Priority
from ._origin import OUTSIDE, Carriage, Cause, Origin, origin_across, origin_within
from ._running import running_on
from ._sending import SendingLayers
from ._stamps import Stamps
from ._time_slice import LOOK_EVERY, TimeSlice
from ._wake import Waiter
from ._window import Window
from .errors import (
    AlreadyForwarded,
    DeliveryError,
    HubError,
    RequestCycle,
    RequestTimeout,
    StreamedReply,
    UnexpectedReply,
    WrongThread,
)

_NORMAL: Final = Priority.NORMAL
_NOWHERE: Final = (OUTSIDE.sender, OUTSIDE.trail)
_REQUEST: Final = MessageType.REQUEST
_NOTIFICATION: Final = MessageType.NOTIFICATION


class Router:
    """Delivers messages from senders to endpoints.

    Attributes:
        agenda: What agents plan.
        lookout: Who watches whom.
    """

    __slots__ = ("_directory", "_engine", "agenda", "lookout")

    def __init__(self, directory: Directory, engine: Engine) -> None:
        self._directory = directory
        self._engine = engine
        self.agenda = Agenda(directory, engine)
        self.lookout = Lookout(directory, engine)

    @property
    def engine(self) -> Engine:
        """The engine of the hub."""
        return self._engine

    @property
    def stamps(self) -> Stamps:
        """The clock and the message ids of the hub."""
        return self._engine.stamps

    @property
    def sending(self) -> SendingLayers | None:
        """The layers around everything that is sent, if there are any."""
        return self._engine.sending

    @property
    def time_slice(self) -> TimeSlice:
        """Lets other tasks run now and then."""
        return self._engine.time_slice

    def check_here(self, call: str) -> None:
        """Refuse a call from another thread or event loop.

        Raises:
            WrongThread: It is such a call.
        """
        self._engine.check_here(call)

    def origin(self, sender: str | None, trace: str | None, cause: Cause | None, *, asks: bool = False) -> Origin:
        """The origin of a message that code sends without a context: the message being handled, if any."""
        sender = None if sender is None else check_text("sender", sender)
        trace = None if trace is None else check_text("trace", trace)
        cause = None if cause is None else check_cause(cause)
        engine = self._engine
        if isinstance(cause, Carriage):
            return origin_across(cause.envelope, sender, cause.place, engine, asks=asks)
        envelope = running_on(engine) if get_ident() == engine.thread else None
        if envelope is None:
            origin = OUTSIDE if sender is None else Origin(sender)
        else:
            origin = origin_within(envelope, sender, self.stamps, asks=asks)
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
            What the sender has to await, usually nothing. It waits for room, or lets other tasks run.
        """
        if timeout is not TIMEOUT:
            timeout = seconds(timeout, "timeout")
        if ttl is not None:
            ttl = seconds(ttl, "ttl")
        engine = self._engine
        try:
            # `_address` inlined for the common case: the call costs as much as the look-ups.
            registration = self._directory.reachable.get(recipient) if type(recipient) is str else None
            if registration is None or origin is not OUTSIDE or get_ident() != engine.thread:
                envelope, endpoint = self._address(recipient, payload, _NOTIFICATION, origin, terms)
            else:
                kind, handlers = type(payload), registration.handlers
                handler = handlers.exact.get(kind) or handlers.find(recipient, kind)
                endpoint = registration.endpoint or registration.open_endpoint(engine, payload)
                stamps = engine.stamps
                stamps.count += 1
                new_envelope, clock = engine.new_envelope, stamps.clock
                envelope = new_envelope(
                    endpoint, handler, payload, _NOTIFICATION, None, terms, NO_TRAIL, stamps.count, clock()
                )
            if ttl is not None:
                envelope.deadline = envelope.sent + ttl
            waiter = None
            if not endpoint.accept(envelope):
                waiter = endpoint.line_up(envelope, engine.patience if timeout is TIMEOUT else timeout)
        except HubError as error:
            self.note_refusal(error, recipient, payload, _NOTIFICATION, origin)
            raise
        if waiter is not None:
            return endpoint.wait(envelope, waiter, self.note_unaccepted)
        if ttl is not None:
            endpoint.arm(envelope)
        return None if envelope.number % LOOK_EVERY else engine.time_slice.after_send(envelope.number)

    def request(  # noqa: PLR0917 - keywords would double the cost of the call
        self,
        recipient: str,
        payload: object,
        origin: Origin,
        terms: Terms,
        timeout: Duration | None,
        window: Window | None = None,
    ) -> tuple[Envelope, Waiter]:
        """Deliver a request; with a window, which takes the parts, for a streamed reply.

        Returns:
            The envelope, and what the sender has to await until its `reply_to` is there. If that fails, the sender has
            to `give_up` the envelope.
        """
        patience = self._engine.patience if timeout is TIMEOUT else seconds(timeout, "timeout")
        try:
            envelope, endpoint = self._address(recipient, payload, _REQUEST, origin, terms)
            sent = envelope.sent
            envelope.deadline = due = sent + patience
            if window is None and envelope.handler.streams:
                raise StreamedReply(recipient, envelope.handler.name)
            if origin is not OUTSIDE:
                envelope.deadline = due = min(due, origin.deadline)
                if due > sent and recipient in origin.trail.chain and self._is_waiting(endpoint, origin.trail):
                    raise RequestCycle(recipient, origin.trail.chain)
            if due <= sent:
                raise RequestTimeout(recipient, max(0.0, due - sent), "start")
            waiter = endpoint.ask(envelope)
        except HubError as error:
            self.note_refusal(error, recipient, payload, _REQUEST, origin)
            raise
        if window is not None:
            envelope.waiter = waiter = window
        return envelope, waiter

    def forward(self, envelope: Envelope, recipient: str, payload: object) -> Coroutine[Any, Any, None] | None:
        """Hand a message on to another agent, and with a request the obligation to answer it.

        Once a request was answered there is no such obligation any more: it continues as a one-way message.

        Returns:
            What the caller has to await, as with `send`.
        """
        if envelope.is_forwarded:
            raise AlreadyForwarded(recipient)
        within = envelope.recipient.id, envelope.number
        trail = Trail(envelope.id(self.stamps), envelope.trace(self.stamps), envelope.trail.chain, within)
        is_running = envelope.state is EnvelopeState.RUNNING
        type_ = envelope.type if is_running else _NOTIFICATION
        origin = Origin(envelope.sender, trail, inside=is_running)
        try:
            successor, endpoint = self._address(recipient, payload, type_, origin, envelope.terms)
            if type_ is _REQUEST:
                if successor.handler.streams and not isinstance(envelope.waiter, Window | None):
                    raise StreamedReply(recipient, successor.handler.name)
                if (
                    recipient in trail.chain
                    and envelope.waiter is not None
                    and self._is_waiting(endpoint, (envelope.first or envelope).trail)
                ):
                    raise RequestCycle(recipient, trail.chain)
                endpoint.take_over(envelope, successor)
                return None
            if envelope.type is not _REQUEST:
                successor.deadline = envelope.deadline
            waiter = None if endpoint.accept(successor) else endpoint.line_up(successor, self._engine.patience)
        except HubError as error:
            self.note_refusal(error, recipient, payload, type_, origin)
            raise
        return None if waiter is None else endpoint.wait(successor, waiter, self.note_unaccepted)

    def reply_to(self, envelope: Envelope, expect: object, wanted: type | Expected) -> object:
        """The reply to a request, if it matches the sender's expectation.

        Args:
            envelope: The request.
            expect: What the sender gave.
            wanted: The same, parsed.

        Raises:
            DeliveryError: There is no reply.
            UnexpectedReply: It does not match.
        """
        debtor = envelope.last or envelope
        if debtor.error is not None:
            try:
                debtor.raise_refusal()
            except DeliveryError as error:
                self.note_unaccepted(error, envelope)
                raise
        reply = debtor.reply
        if type(reply) is wanted or matches(reply, wanted):
            return reply
        raise UnexpectedReply(envelope.recipient.id, expect, reply)

    def note_refusal(
        self,
        error: BaseException,
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
        self._engine.account.refuse(Refusal(type_, origin.sender, name, payload, error, topic, origin.trail))

    def note_unaccepted(self, error: BaseException, envelope: Envelope) -> None:
        """Count a message that was refused while it waited for room; accepted messages end in other ways."""
        if envelope.was_refused_by(error):
            origin, topic = Origin(envelope.sender, envelope.trail), envelope.terms.topic
            self.note_refusal(error, envelope.recipient.id, envelope.payload, envelope.type, origin, topic=topic)

    def _is_waiting(self, endpoint: Endpoint, trail: Trail) -> bool:
        """Whether an agent that waits for a request has no free worker for it.

        Of an agent with keys, another instance may be the one that waits.
        """
        if not endpoint.workers.all_busy:
            return False
        return not isinstance(endpoint, Instance) or self._engine.callers.waits_on(endpoint, trail)

    def _address(
        self, recipient: str, payload: object, type_: MessageType, origin: Origin, terms: Terms
    ) -> tuple[Envelope, Endpoint]:
        engine = self._engine
        if get_ident() != engine.thread:
            raise WrongThread(engine.hub, "request" if type_ is _REQUEST else "send")
        try:
            registration = self._directory.reachable.get(recipient)
        except TypeError:  # an unhashable value is not an id, as `find` will say
            registration = None
        if registration is None:
            registration = self._directory.find(recipient, inside=origin.inside or self.is_inside())
        payload_class = type(payload)
        handlers = registration.handlers
        handler = handlers.exact.get(payload_class) or handlers.find(recipient, payload_class)
        endpoint = registration.endpoint or registration.open_endpoint(engine, payload)
        stamps = engine.stamps
        stamps.count += 1
        # Calls of attributes that are not methods, and fields of a named tuple, cost some 100 instructions each.
        new_envelope, clock = engine.new_envelope, stamps.clock
        sender, trail = _NOWHERE if origin is OUTSIDE else (origin.sender, origin.trail)
        return new_envelope(endpoint, handler, payload, type_, sender, terms, trail, stamps.count, clock()), endpoint

    def is_inside(self) -> bool:
        """Whether a handler or a hook of this hub runs this code, or started the task that does."""
        return caller_on(self._engine) is not None


def terms_of(headers: Mapping[str, str] | None, priority: Priority, topic: str | None = None) -> Terms:
    """The terms of a message with a sender's options."""
    if headers is None and priority is _NORMAL and topic is None:
        return STANDARD
    return Terms(NO_HEADERS if headers is None else read_headers(headers), check_priority(priority), topic)
