"""How messages find their recipient."""

from collections.abc import Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Final

from ._desk import Desk
from ._directory import Directory
from ._engine import Engine
from ._expect import fits
from ._limits import Duration, seconds
from ._message import NO_HEADERS, MessageType, Priority
from ._origin import OUTSIDE, Cause, Origin, origin_within
from ._parcel import STANDARD, Parcel, State, Terms, Trail
from ._running import running
from ._stamps import Stamps
from ._turns import LOOK_EVERY, Turns
from .errors import AlreadyForwarded, RequestCycle, RequestTimeout, UnexpectedReply

_FORWARD_PATIENCE: Final = 30.0
_NORMAL: Final = Priority.NORMAL
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
        parcel = running()
        if parcel is None or parcel.worker is None or parcel.worker.engine is not self._engine:
            origin = OUTSIDE if sender is None else Origin(sender)
        else:
            origin = origin_within(parcel, sender, self.stamps, asks=asks)
        return origin.because(cause, trace)

    def send(
        self,
        recipient: str,
        payload: object,
        origin: Origin,
        *,
        terms: Terms,
        timeout: Duration | None,
        ttl: Duration | None,
    ) -> Coroutine[Any, Any, None] | None:
        """Deliver a one-way message.

        Returns:
            What the sender has to await, most often nothing. It waits for room, or lets other tasks have their turn.
        """
        parcel, desk = self._address(recipient, payload, _NOTIFICATION, origin, terms)
        if ttl is not None:
            parcel.deadline = parcel.sent + seconds(ttl)
        rest = None if desk.accept(parcel) else desk.line_up(parcel, seconds(timeout))
        if rest is not None:
            return rest
        if ttl is not None:
            desk.arm(parcel)
        return None if parcel.number % LOOK_EVERY else self._engine.turns.after_send(parcel.number)

    def request(
        self,
        recipient: str,
        payload: object,
        origin: Origin,
        *,
        terms: Terms,
        timeout: Duration | None,
    ) -> tuple[Parcel, Coroutine[Any, Any, None]]:
        """Deliver a request.

        Returns:
            The parcel, and what the sender has to await until `reply_to` it is there.
        """
        parcel, desk = self._address(recipient, payload, _REQUEST, origin, terms)
        parcel.deadline = min(parcel.sent + seconds(timeout), origin.deadline)
        if parcel.deadline <= parcel.sent:
            raise RequestTimeout(recipient, max(0.0, parcel.deadline - parcel.sent), "start")
        if recipient in origin.trail.chain and desk.all_busy:
            raise RequestCycle(recipient, origin.trail.chain)
        return parcel, desk.ask(parcel)

    def forward(self, parcel: Parcel, recipient: str, payload: object) -> Coroutine[Any, Any, None] | None:
        """Hand a message on to another agent, and with a request the obligation to answer it.

        Returns:
            What there is to await, as with `send`.
        """
        if parcel.is_forwarded:
            raise AlreadyForwarded(recipient)
        trail = Trail(parcel.id(self.stamps), parcel.trace(self.stamps), parcel.trail.chain)
        origin = Origin(parcel.sender, trail, inside=parcel.state is State.RUNNING)
        successor, desk = self._address(recipient, payload, parcel.type, origin, parcel.terms)
        if parcel.type is _REQUEST:
            if recipient in trail.chain and parcel.waiter is not None and desk.all_busy:
                raise RequestCycle(recipient, trail.chain)
            desk.take_over(parcel, successor)
            return None
        successor.deadline = parcel.deadline
        return None if desk.accept(successor) else desk.line_up(successor, _FORWARD_PATIENCE)

    def _address(
        self, recipient: str, payload: object, type_: MessageType, origin: Origin, terms: Terms
    ) -> tuple[Parcel, Desk]:
        registration = self._directory.reachable.get(recipient)
        if registration is None:
            registration = self._directory.find(recipient, inside=origin.inside)
        payload_class = type(payload)
        handlers = registration.handlers
        handler = handlers.exact.get(payload_class) or handlers.find(recipient, payload_class)
        engine = self._engine
        desk = registration.desk or registration.open_desk(engine)
        stamps = engine.stamps
        stamps.count += 1
        return engine.new_parcel(
            desk, handler, payload, type_, origin.sender, terms, origin.trail, stamps.count, stamps.clock()
        ), desk


def terms_of(headers: Mapping[str, str] | None, priority: Priority, topic: str | None = None) -> Terms:
    """What the options of a sender say about a message."""
    if headers is None and priority is _NORMAL and topic is None:
        return STANDARD
    return Terms(NO_HEADERS if headers is None else MappingProxyType(dict(headers)), Priority(priority), topic)


def reply_to(parcel: Parcel, expect: object) -> object:
    """The reply to a request, if it is what its sender expects.

    Raises:
        UnexpectedReply: It is not.
    """
    reply = (parcel.last or parcel).reply
    if type(reply) is expect or fits(reply, expect):
        return reply
    raise UnexpectedReply(parcel.recipient.id, expect, reply)
