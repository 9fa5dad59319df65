"""A message to an agent that is sent without a sender who waits."""

from ._directory import Directory, Phase
from ._endpoint import Endpoint
from ._engine import Engine
from ._envelope import Envelope, Terms, Trail
from ._events import DeadReason
from ._handlers import Handler
from ._message import MessageType
from ._origin import Origin
from ._registration import Registration
from ._wake import Unawaited
from .errors import DeliveryError, HubStopped, MailboxFull


class Notice:
    """A one-way message that can be sent any number of times, to an agent that may be full.

    Nobody waits for it: where the sender of a message would be told that it was not accepted, this one is dead.
    """

    __slots__ = (
        "_directory",
        "_engine",
        "_handler",
        "_payload",
        "_registration",
        "_sender",
        "_terms",
        "_trail",
        "_ttl",
    )

    def __init__(  # noqa: PLR0917 - made in one place, of what it is
        self,
        directory: Directory,
        engine: Engine,
        registration: Registration,
        payload: object,
        origin: Origin,
        terms: Terms,
        ttl: float,
    ) -> None:
        self._directory = directory
        self._engine = engine
        self._registration = registration
        self._handler: Handler = registration.handlers.find(registration.id, type(payload))
        self._payload = payload
        self._sender = origin.sender
        self._trail = Trail(origin.trail.cause, origin.trail.trace)
        self._terms = terms
        self._ttl = ttl

    def fire(self) -> Envelope | None:
        """Send it now; None if the hub takes no messages any more."""
        engine, registration = self._engine, self._registration
        if self._directory.phase is not Phase.RUNNING:
            return None
        try:
            endpoint = registration.endpoint or registration.open_endpoint(engine, self._payload)
        except DeliveryError as error:
            return self._lost(error)
        envelope = self._envelope(endpoint)
        if endpoint.accept(envelope) or endpoint.displaces(envelope):
            envelope.deadline = envelope.sent + self._ttl
            endpoint.arm(envelope)
        elif endpoint.overflow == "wait":
            endpoint.line_up_alone(envelope, engine.patience, _End(engine, envelope, self._ttl))
        else:
            engine.account.lose(envelope, DeadReason.MAILBOX_FULL)
        return envelope

    def _lost(self, error: DeliveryError) -> Envelope:
        """No instance of the agent can take it: there are too many, or its payload has no key."""
        engine, is_full = self._engine, isinstance(error, MailboxFull)
        if not is_full:
            hub, agent = engine.hub, self._registration.id
            engine.log.error("no key for a planned message", hub=hub, agent=agent, exc_info=error.__cause__)
        envelope = self._envelope(self._registration.new_endpoint(engine))
        engine.account.lose(envelope, DeadReason.MAILBOX_FULL if is_full else DeadReason.UNHANDLED)
        return envelope

    def _envelope(self, endpoint: Endpoint) -> Envelope:
        stamps = self._engine.stamps
        stamps.count += 1
        return self._engine.new_envelope(
            endpoint,
            self._handler,
            self._payload,
            MessageType.NOTIFICATION,
            self._sender,
            self._terms,
            self._trail,
            stamps.count,
            stamps.clock(),
        )


class _End(Unawaited):
    """Stands where a sender would wait for room, and acts at once when the wait is over."""

    __slots__ = ("_engine", "_envelope", "_ttl")

    def __init__(self, engine: Engine, envelope: Envelope, ttl: float) -> None:
        self._engine = engine
        self._envelope = envelope
        self._ttl = ttl

    def set_result(self, result: None, /) -> None:  # noqa: ARG002 - the signature of a future
        """The wait is over."""
        envelope, error = self._envelope, self._envelope.error
        envelope.error = None
        if error is None:
            envelope.deadline = envelope.sent + self._ttl
            envelope.recipient.arm(envelope)
            return
        reason = (
            DeadReason.MAILBOX_FULL
            if isinstance(error, MailboxFull)
            else DeadReason.HUB_STOPPED
            if isinstance(error, HubStopped)
            else DeadReason.RECIPIENT_GONE
        )
        self._engine.account.lose(envelope, reason)
