"""The account of all parcels of a hub: each accepted one ends once, in one way."""

from collections.abc import Callable
from dataclasses import dataclass

from ._emitter import Emitter
from ._events import (
    DeadReason,
    MessageAccepted,
    MessageCancelled,
    MessageDead,
    MessageEvent,
    MessageFailed,
    MessageHandled,
    MessageStarted,
    ReplyLate,
)
from ._message import MessageType
from ._parcel import Parcel, State
from ._stamps import Stamps
from ._wake import Waiter

# Names of their own, because looking up a member of an enum costs as much as the rest of the line.
_QUEUED, _RUNNING, _ENDED, _REQUEST = State.QUEUED, State.RUNNING, State.ENDED, MessageType.REQUEST


@dataclass(frozen=True, slots=True, kw_only=True)
class HubMetrics:
    """Counts since the hub was entered. ``accepted = handled + failed + cancelled + dead + in_flight``.

    Attributes:
        agents: Agents registered now, without those that are leaving.
        accepted: Messages that found room in a mailbox.
        handled: Those whose handler returned.
        failed: Those whose handler raised.
        cancelled: Those whose handler was cancelled, or that were withdrawn by a requester who no longer waits.
        dead: Those that will never be handled: expired, or their recipient or the hub stopped.
        late_replies: Replies that came when nobody waited for them any more.
        observer_failures: Events that the observer failed on.
    """

    agents: int
    accepted: int = 0
    handled: int = 0
    failed: int = 0
    cancelled: int = 0
    dead: int = 0
    late_replies: int = 0
    observer_failures: int = 0

    @property
    def in_flight(self) -> int:
        """Messages that wait in a mailbox or are being handled."""
        return self.accepted - self.handled - self.failed - self.cancelled - self.dead


class Ledger:
    """Counts parcels, tells the observer about them, and knows when all is quiet."""

    __slots__ = (
        "_emitter",
        "_hub",
        "_new_waiter",
        "_observed",
        "_stamps",
        "_watchers",
        "accepted",
        "cancelled",
        "dead",
        "failed",
        "handled",
        "late_replies",
    )

    def __init__(self, hub: str, emitter: Emitter, stamps: Stamps, new_waiter: Callable[[], Waiter]) -> None:
        self._hub = hub
        self._emitter = emitter
        self._observed = emitter.enabled
        self._stamps = stamps
        self._new_waiter = new_waiter
        self._watchers: list[tuple[Waiter, int]] = []
        self.accepted = self.handled = self.failed = self.cancelled = self.dead = self.late_replies = 0

    @property
    def in_flight(self) -> int:
        """Parcels that were accepted and have not ended."""
        return self.accepted - self.handled - self.failed - self.cancelled - self.dead

    def accept(self, parcel: Parcel) -> None:
        """A mailbox took it."""
        parcel.state = _QUEUED
        self.accepted += 1
        if self._observed:
            self._tell(MessageAccepted, parcel)

    def start(self, parcel: Parcel) -> None:
        """Its handler begins."""
        parcel.state = _RUNNING
        if self._observed:
            self._tell(MessageStarted, parcel)

    def handle(self, parcel: Parcel, reply: object) -> None:
        """Its handler returned."""
        parcel.state = _ENDED
        self.handled += 1
        if parcel.waiter is not None:
            parcel.answer(reply)
        elif parcel.type is _REQUEST:
            self.late_replies += 1
            self._tell(ReplyLate, parcel)
        if self._observed:
            self._tell(MessageHandled, parcel)

    def fail(self, parcel: Parcel, error: BaseException) -> None:
        """Its handler raised."""
        parcel.state = _ENDED
        self.failed += 1
        self._tell(MessageFailed, parcel, error=type(error).__qualname__)

    def cancel(self, parcel: Parcel) -> None:
        """Its handler was cancelled, or its requester withdrew it."""
        parcel.state = _ENDED
        self.cancelled += 1
        self._tell(MessageCancelled, parcel)

    def bury(self, parcel: Parcel, reason: DeadReason) -> None:
        """It will never be handled."""
        parcel.state = _ENDED
        self.dead += 1
        self._tell(MessageDead, parcel, reason=reason)

    def totals(self) -> dict[str, int]:
        """The counts, by the names that `HubMetrics` has for them."""
        names = ("accepted", "handled", "failed", "cancelled", "dead", "late_replies")
        return {name: getattr(self, name) for name in names}

    async def quiet(self, spare: int = 0) -> None:
        """Wait until no more than `spare` parcels are in flight."""
        while self.in_flight > spare:
            waiter = self._new_waiter()
            self._watchers.append((waiter, spare))
            try:
                await waiter
            finally:
                self._watchers = [watcher for watcher in self._watchers if watcher[0] is not waiter]

    def settle(self) -> None:
        """Wake those who wait for quiet. Called where it may come: a worker rests or leaves, a queue was cleared."""
        for waiter, spare in self._watchers:
            if self.in_flight <= spare and not waiter.done():
                waiter.set_result(None)

    def _tell(self, event: Callable[..., MessageEvent], parcel: Parcel, **facts: str) -> None:
        if not self._observed:
            return
        stamps = self._stamps
        self._emitter.emit(
            event(
                hub=self._hub,
                message_id=parcel.id(stamps),
                type=parcel.type,
                sender=parcel.sender,
                recipient=parcel.recipient.id,
                payload=type(parcel.payload).__qualname__,
                trace=parcel.trace(stamps),
                age=stamps.clock() - parcel.sent,
                **facts,
            )
        )
