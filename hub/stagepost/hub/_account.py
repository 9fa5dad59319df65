"""Counts and reports what becomes of all envelopes of a hub: each accepted one ends exactly once."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ._bell import Bell
from ._containment import class_name
from ._dead_letters import DeadLetters
from ._emitter import Emitter
from ._envelope import Envelope, EnvelopeState, Trail
from ._events import (
    DeadReason,
    MessageAccepted,
    MessageCancelled,
    MessageDead,
    MessageEvent,
    MessageFailed,
    MessageHandled,
    MessageRefused,
    MessageStarted,
    ReplyLate,
)
from ._handlers import NOBODY
from ._losses import LossBook
from ._message import MessageType
from ._stamps import Stamps
from ._wake import Waiter
from ._window import Streamed

# Module-level names, because looking up a member of an enum costs as much as the rest of the line.
_ROUTINE: Final = MessageAccepted.level
_QUEUED, _RUNNING, _ENDED, _REQUEST = (
    EnvelopeState.QUEUED,
    EnvelopeState.RUNNING,
    EnvelopeState.ENDED,
    MessageType.REQUEST,
)


class Refusal(NamedTuple):
    """A send or request that was refused."""

    kind: MessageType
    sender: str | None
    recipient: str
    payload: object
    error: BaseException
    topic: str | None
    trail: Trail


class Account:
    """Counts envelopes, reports them to the observer, keeps the dead ones, and knows when nothing is in flight.

    Attributes:
        asks_observer: Whether the levels that the observer wants may change.
        dead_letters: The messages that were never handled.
        losses: How many of them there were in each trace.
        bell: Rings when nothing may be in flight any more.
        observed: Whether the observer wants the events of every message.
        notify: Rings the bell: a worker rests or leaves, a queue was cleared.
    """

    __slots__ = (
        "_emitter",
        "_hub",
        "_stamps",
        "accepted",
        "asks_observer",
        "bell",
        "cancelled",
        "dead",
        "dead_letters",
        "failed",
        "handled",
        "late_replies",
        "losses",
        "notify",
        "observed",
        "parts",
        "refused",
        "undelivered",
        "unheard",
    )

    def __init__(
        self, hub: str, emitter: Emitter, stamps: Stamps, new_waiter: Callable[[], Waiter], dead_letters: int
    ) -> None:
        self._hub = hub
        self._emitter = emitter
        self.asks_observer = emitter.is_selective
        self.observed = emitter.wants(_ROUTINE)
        self._stamps = stamps
        self.bell = Bell(new_waiter)
        self.notify = self.bell.ring
        self.accepted = self.handled = self.failed = self.cancelled = self.dead = self.late_replies = 0
        self.undelivered = self.refused = self.unheard = self.parts = 0
        self.dead_letters = DeadLetters(dead_letters, stamps)
        self.losses = LossBook()

    @property
    def in_flight(self) -> int:
        """Envelopes that were accepted and have not ended."""
        return self.accepted - self.handled - self.failed - self.cancelled - self.dead

    def look_up_observer(self) -> None:
        """Ask again whether the observer wants the events of every message."""
        self.observed = self._emitter.wants(_ROUTINE)

    def accept(self, envelope: Envelope) -> None:
        """A mailbox took it."""
        envelope.state = _QUEUED
        self.accepted += 1
        if self.observed:
            self._tell(MessageAccepted, envelope)

    def start(self, envelope: Envelope) -> None:
        """Its handler begins."""
        envelope.state = _RUNNING
        if self.observed:
            self._tell(MessageStarted, envelope)

    def handle(self, envelope: Envelope, reply: object) -> None:
        """Its handler returned."""
        envelope.state = _ENDED
        self.handled += 1
        if envelope.waiter is not None:
            envelope.reply = reply
            envelope.release()
        else:
            if envelope.bucket is not None:  # for example a request that was forwarded after its requester gave up
                envelope.release()
            if envelope.type is _REQUEST:
                self._note_unanswered(envelope, reply)
        if self.observed:
            self._tell(MessageHandled, envelope, parts=_parts(reply))

    def _note_unanswered(self, envelope: Envelope, reply: object) -> None:
        """A handler returned to nobody: its request was forwarded, or the reply comes too late."""
        if envelope.is_forwarded:
            return
        if type(reply) is Streamed:  # its parts were not read, but it is no late reply
            return
        self.late_replies += 1
        envelope.reply = reply
        self.dead_letters.add(envelope, DeadReason.LATE_REPLY)
        self._tell(ReplyLate, envelope)

    def fail(self, envelope: Envelope, error: BaseException) -> None:
        """Its handler raised."""
        envelope.state = _ENDED
        self.failed += 1
        envelope.recipient.tally.failed += 1
        envelope.release()  # a waiting sender got its error before
        self._tell(MessageFailed, envelope, error=class_name(type(error)))

    def cancel(self, envelope: Envelope) -> None:
        """Its handler was cancelled, or its requester withdrew it."""
        envelope.state = _ENDED
        self.cancelled += 1
        envelope.recipient.tally.cancelled += 1
        envelope.release()  # a waiting sender got its error before
        self._tell(MessageCancelled, envelope)

    def mark_dead(self, envelope: Envelope, reason: DeadReason) -> None:
        """It will never be handled."""
        envelope.state = _ENDED
        self.dead += 1
        envelope.recipient.tally.dead += 1
        self.dead_letters.add(envelope, reason)
        if envelope.trail.trace is not None:  # otherwise it is the only one in its trace
            self.losses.note(envelope.trail.trace, envelope.recipient.id, reason)
        if envelope.waiter is None and envelope.bucket is not None:
            envelope.release()
        if self._emitter.enabled:
            self._tell(MessageDead, envelope, reason=reason)

    def lose(self, envelope: Envelope, reason: DeadReason) -> None:
        """A recipient of a publication could not get it."""
        self.accepted += 1
        self.undelivered += 1
        self.mark_dead(envelope, reason)

    def refuse(self, refusal: Refusal) -> None:
        """A send or request ended by an error without being accepted."""
        self.refused += 1
        if self._emitter.wants(MessageRefused.level):
            self._emitter.emit(
                MessageRefused(
                    hub=self._hub,
                    type=refusal.kind,
                    sender=refusal.sender,
                    recipient=refusal.recipient,
                    payload=class_name(type(refusal.payload)),
                    error=type(refusal.error).__qualname__,
                    topic=refusal.topic,
                    cause=refusal.trail.cause,
                    trace=refusal.trail.trace,
                )
            )

    def totals(self) -> dict[str, Any]:
        """The counts, by the names in `HubMetrics`."""
        names = ("accepted", "handled", "failed", "cancelled", "dead", "late_replies", "refused", "unheard", "parts")
        totals: dict[str, Any] = {name: getattr(self, name) for name in names}
        return totals | {
            "sent": self._stamps.count,
            "delivered": self.accepted - self.undelivered,
        }

    async def quiet(self) -> None:
        """Wait until nothing is in flight."""
        await self.bell.until(lambda: self.in_flight <= 0)

    def _tell(self, event: type[MessageEvent], envelope: Envelope, **facts: Any) -> None:
        if not self._emitter.wants(event.level):
            return
        stamps = self._stamps
        self._emitter.emit(
            event(
                hub=self._hub,
                message_id=envelope.id(stamps),
                type=envelope.type,
                sender=envelope.sender,
                recipient=envelope.recipient.id,
                payload=class_name(type(envelope.payload)),
                trace=envelope.trace(stamps),
                age=stamps.clock() - envelope.sent,
                handler=None if envelope.handler is NOBODY else envelope.handler.name,
                topic=envelope.terms.topic,
                cause=envelope.trail.cause,
                **facts,
            )
        )


def _parts(reply: object) -> int | None:
    """How many parts a handler has streamed. Replies are values of somebody else: only their type is looked at."""
    return reply.parts if type(reply) is Streamed else None
