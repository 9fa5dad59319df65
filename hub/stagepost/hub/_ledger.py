"""The account of all parcels of a hub: each accepted one ends once, in one way."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ._bell import Bell
from ._containment import class_name
from ._dead_letters import DeadLetters
from ._emitter import Emitter
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
from ._message import MessageType
from ._parcel import Parcel, State, Trail
from ._stamps import Stamps
from ._wake import Waiter

# Names of their own, because looking up a member of an enum costs as much as the rest of the line.
_ROUTINE: Final = MessageAccepted.level
_QUEUED, _RUNNING, _ENDED, _REQUEST = State.QUEUED, State.RUNNING, State.ENDED, MessageType.REQUEST


class Refusal(NamedTuple):
    """A send or request that was refused."""

    kind: MessageType
    sender: str | None
    recipient: str
    payload: object
    error: BaseException
    topic: str | None
    trail: Trail


class Ledger:
    """Counts parcels, tells the observer about them, keeps the dead ones, and knows when all is quiet.

    Attributes:
        asks_observer: Whether the observer may change its mind about what it wants to know of.
        dead_letters: What was never handled.
        bell: Rings when quiet may have come.
        observed: Whether the observer wants to know of what happens to every message.
        settle: Rings it: a worker rests or leaves, a queue was cleared.
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
        "observed",
        "refused",
        "settle",
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
        self.settle = self.bell.ring
        self.accepted = self.handled = self.failed = self.cancelled = self.dead = self.late_replies = 0
        self.undelivered = self.refused = self.unheard = 0
        self.dead_letters = DeadLetters(dead_letters, stamps)

    @property
    def in_flight(self) -> int:
        """Parcels that were accepted and have not ended."""
        return self.accepted - self.handled - self.failed - self.cancelled - self.dead

    def look_up_observer(self) -> None:
        """Ask again whether the observer wants to know of what happens to every message."""
        self.observed = self._emitter.wants(_ROUTINE)

    def accept(self, parcel: Parcel) -> None:
        """A mailbox took it."""
        parcel.state = _QUEUED
        self.accepted += 1
        if self.observed:
            self._tell(MessageAccepted, parcel)

    def start(self, parcel: Parcel) -> None:
        """Its handler begins."""
        parcel.state = _RUNNING
        if self.observed:
            self._tell(MessageStarted, parcel)

    def handle(self, parcel: Parcel, reply: object) -> None:
        """Its handler returned."""
        parcel.state = _ENDED
        self.handled += 1
        if parcel.waiter is not None:
            parcel.reply = reply
            parcel.release()
        else:
            if parcel.bucket is not None:  # also of a request that was forwarded when nobody waited for it any more
                parcel.release()
            if parcel.type is _REQUEST:
                self._note_unanswered(parcel, reply)
        if self.observed:
            self._tell(MessageHandled, parcel)

    def _note_unanswered(self, parcel: Parcel, reply: object) -> None:
        """A handler returned to nobody: its request was forwarded, or the reply comes too late."""
        if parcel.is_forwarded:
            return
        self.late_replies += 1
        parcel.reply = reply
        self.dead_letters.add(parcel, DeadReason.LATE_REPLY)
        self._tell(ReplyLate, parcel)

    def fail(self, parcel: Parcel, error: BaseException) -> None:
        """Its handler raised."""
        parcel.state = _ENDED
        self.failed += 1
        parcel.recipient.tally.failed += 1
        parcel.release()  # whoever waits was refused before
        self._tell(MessageFailed, parcel, error=class_name(type(error)))

    def cancel(self, parcel: Parcel) -> None:
        """Its handler was cancelled, or its requester withdrew it."""
        parcel.state = _ENDED
        self.cancelled += 1
        parcel.recipient.tally.cancelled += 1
        parcel.release()  # whoever waits was refused before
        self._tell(MessageCancelled, parcel)

    def bury(self, parcel: Parcel, reason: DeadReason) -> None:
        """It will never be handled."""
        parcel.state = _ENDED
        self.dead += 1
        parcel.recipient.tally.dead += 1
        self.dead_letters.add(parcel, reason)
        if parcel.waiter is None and parcel.bucket is not None:
            parcel.release()
        if self._emitter.enabled:
            self._tell(MessageDead, parcel, reason=reason)

    def lose(self, parcel: Parcel, reason: DeadReason) -> None:
        """A recipient of a publication could not get it."""
        self.accepted += 1
        self.undelivered += 1
        self.bury(parcel, reason)

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
        """The counts, by the names that `HubMetrics` has for them."""
        names = ("accepted", "handled", "failed", "cancelled", "dead", "late_replies", "refused", "unheard")
        totals: dict[str, Any] = {name: getattr(self, name) for name in names}
        return totals | {
            "sent": self._stamps.count,
            "delivered": self.accepted - self.undelivered,
        }

    async def quiet(self) -> None:
        """Wait until nothing is in flight."""
        await self.bell.until(lambda: self.in_flight <= 0)

    def _tell(self, event: type[MessageEvent], parcel: Parcel, **facts: Any) -> None:
        if not self._emitter.wants(event.level):
            return
        stamps = self._stamps
        self._emitter.emit(
            event(
                hub=self._hub,
                message_id=parcel.id(stamps),
                type=parcel.type,
                sender=parcel.sender,
                recipient=parcel.recipient.id,
                payload=class_name(type(parcel.payload)),
                trace=parcel.trace(stamps),
                age=stamps.clock() - parcel.sent,
                handler=None if parcel.handler is NOBODY else parcel.handler.name,
                topic=parcel.terms.topic,
                cause=parcel.trail.cause,
                **facts,
            )
        )
