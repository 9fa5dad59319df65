"""One publication on its way: what became of each recipient so far."""

import math
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from ._desk import Desk
from ._directory import Directory, Subscriber
from ._engine import Engine
from ._events import DeadReason, Published
from ._handlers import NOBODY
from ._listener import Listener
from ._message import MessageType
from ._origin import Origin
from ._parcel import Parcel, Terms, Trail
from ._report import Delivery

Place: TypeAlias = Desk | Listener


class Publication:
    """One payload for many recipients, each of which gets a parcel of its own.

    Attributes:
        type: What kind of message it is.
        waiting: Those who were full, with their parcels.
    """

    __slots__ = (
        "_delivered",
        "_directory",
        "_due",
        "_engine",
        "_full",
        "_not_handled",
        "_now",
        "_origin",
        "_payload",
        "_stopped",
        "_terms",
        "_trail",
        "type",
        "waiting",
    )

    def __init__(  # noqa: PLR0917 - made in one place, of what it is
        self, directory: Directory, engine: Engine, payload: object, origin: Origin, terms: Terms, lasting: float
    ) -> None:
        self._directory = directory
        self._engine = engine
        self._payload = payload
        self._origin = origin
        self._trail = origin.trail
        self._terms = terms
        self.type = MessageType.BROADCAST if terms.topic is None else MessageType.NOTIFICATION
        self._now = engine.stamps.clock()
        self._due = self._now + lasting
        self._delivered: list[str] = []
        self._full: list[str] = []
        self._not_handled: list[str] = []
        self._stopped: list[str] = []
        self.waiting: list[tuple[Place, Parcel]] = []

    def deliver(self, recipients: Iterable[Subscriber]) -> None:
        """Deliver wherever there is room, without letting anybody else run."""
        engine, payload, sender, terms = self._engine, self._payload, self._origin.sender, self._terms
        stamps, now, due, type_ = engine.stamps, self._now, self._due, self.type
        payload_class, before, trail, delivered = type(payload), stamps.count, self._trail, self._delivered
        new_parcel = engine.new_parcel
        if trail.trace is None:  # all of them belong to one trace, which the first message names
            trail = Trail(trail.cause, stamps.message_id(before + 1, now))
        for recipient in recipients:
            agent = recipient.id
            if agent == sender:
                continue
            handlers = recipient.handlers
            handler = handlers.exact.get(payload_class) or handlers.look_up(payload_class)
            if handler is None and terms.topic is None:
                continue
            desk: Place = recipient.desk or recipient.open_desk(engine)
            stamps.count += 1
            parcel = new_parcel(desk, handler or NOBODY, payload, type_, sender, terms, trail, stamps.count, now)
            parcel.deadline = due
            if handler is None:
                self._not_handled.append(agent)
                engine.ledger.lose(parcel, DeadReason.UNHANDLED)
            elif desk.accept(parcel):
                delivered.append(agent)
                if due < math.inf:
                    desk.arm(parcel)
            else:
                self.waiting.append((desk, parcel))
        if stamps.count > before:
            self._trail = trail

    def present(self, recipients: Iterable[Subscriber]) -> Iterator[Subscriber]:
        """Those of the recipients who may still be served, after others have run; notes the rest."""
        is_open = self._directory.is_open(inside=self._origin.inside)
        for recipient in recipients:
            if is_open and self._directory.holds(recipient):
                yield recipient
            elif recipient.id != self._origin.sender and recipient.handlers.look_up(type(self._payload)) is not None:
                self._come_too_late(recipient)

    def _come_too_late(self, recipient: Subscriber) -> None:
        engine, stamps = self._engine, self._engine.stamps
        desk = recipient if isinstance(recipient, Listener) else recipient.desk or recipient.new_desk(engine)
        stamps.count += 1
        parcel = engine.new_parcel(
            desk,
            NOBODY,
            self._payload,
            self.type,
            self._origin.sender,
            self._terms,
            self._trail,
            stamps.count,
            self._now,
        )
        self.note_stopped(parcel)

    def deliver_again(self, desk: Place, parcel: Parcel) -> bool:
        """Deliver to somebody who was full before; whether that, or the chance of it, is over."""
        if desk.closing:
            self.note_stopped(parcel)
        elif desk.accept(parcel):
            desk.arm(parcel)
            self.note_delivered(parcel)
        else:
            return False
        return True

    def note_delivered(self, parcel: Parcel) -> None:
        """Somebody who was full has taken it."""
        self._delivered.append(parcel.recipient.id)

    def note_full(self, parcel: Parcel) -> None:
        """Somebody had no room in time."""
        self._full.append(parcel.recipient.id)
        self._engine.ledger.lose(parcel, DeadReason.MAILBOX_FULL)

    def note_stopped(self, parcel: Parcel) -> None:
        """Somebody has left, or the hub takes no more."""
        is_open = self._directory.is_open(inside=self._origin.inside)
        self._stopped.append(parcel.recipient.id)
        self._engine.ledger.lose(parcel, DeadReason.RECIPIENT_GONE if is_open else DeadReason.HUB_STOPPED)

    def event(self) -> Published:
        """What the observer is told."""
        return Published(
            hub=self._engine.hub,
            topic=self._terms.topic,
            sender=self._origin.sender,
            delivered=len(self._delivered),
            lost=len(self._full) + len(self._not_handled) + len(self._stopped),
            cause=self._origin.trail.cause,
        )

    def report(self) -> Delivery:
        """Who got it, and who did not."""
        return Delivery(
            delivered=tuple(self._delivered),
            full=tuple(self._full),
            not_handled=tuple(self._not_handled),
            stopped=tuple(self._stopped),
        )
