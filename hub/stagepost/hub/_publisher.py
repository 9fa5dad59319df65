"""How one message finds many recipients."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from anyio import create_task_group
from anyio.lowlevel import checkpoint

from ._desk import Desk
from ._directory import Directory, Phase, Subscriber
from ._engine import Engine
from ._events import DeadReason, Published
from ._handlers import NOBODY
from ._limits import Duration, seconds
from ._listener import Listener
from ._message import MessageType
from ._parcel import Parcel, Terms, Trail
from ._report import Delivery
from ._router import Origin, Router
from .errors import DeliveryError, HubStopped, MailboxFull

_DELIVERIES_PER_TURN: Final = 1024  # about a millisecond
_TURNS: Final = 2  # trio runs what is ready in random order: only after two of them has everybody surely had one

Place: TypeAlias = Desk | Listener


@dataclass(slots=True)
class _Account:
    """What became of each recipient so far."""

    delivered: list[str] = field(default_factory=list)
    full: list[str] = field(default_factory=list)
    not_handled: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)

    def report(self) -> Delivery:
        return Delivery(
            delivered=tuple(self.delivered),
            full=tuple(self.full),
            not_handled=tuple(self.not_handled),
            stopped=tuple(self.stopped),
        )


def _type_of(terms: Terms) -> MessageType:
    return MessageType.BROADCAST if terms.topic is None else MessageType.NOTIFICATION


class Publisher:
    """Takes one payload to many desks, none of which can hold up the others."""

    __slots__ = ("_directory", "_engine", "_router")

    def __init__(self, directory: Directory, engine: Engine, router: Router) -> None:
        self._directory = directory
        self._engine = engine
        self._router = router

    async def publish(
        self, payload: object, origin: Origin, terms: Terms, *, timeout: Duration | None, ttl: Duration | None
    ) -> Delivery:
        """Deliver to the subscribers of the topic in the terms, or without one to everyone that has a handler."""
        self._engine.check_here("publish" if terms.topic else "broadcast")
        patience, lasting = seconds(timeout, "timeout"), seconds(ttl, "ttl")
        topic, inside = terms.topic, origin.inside or self._router.is_inside()
        try:
            self._directory.check_open("*" if topic is None else topic, inside=inside)
        except HubStopped as error:
            self._router.note_refusal(error, "*", payload, _type_of(terms), origin, topic=topic)
            raise
        recipients: Iterable[Subscriber]
        recipients = self._everyone(type(payload)) if topic is None else self._directory.topics.match(topic)
        account = _Account()
        before = self._engine.stamps.count
        full = self._deliver(recipients, payload, origin, terms, lasting, account)
        if full:
            for _ in range(_TURNS):
                await checkpoint()
            await self._insist(full, patience, account)
        elif self._engine.stamps.count // _DELIVERIES_PER_TURN != before // _DELIVERIES_PER_TURN:
            await checkpoint()
        self._conclude(account, origin, topic, self._engine.stamps.count - before)
        return account.report()

    def _conclude(self, account: _Account, origin: Origin, topic: str | None, sent: int) -> None:
        engine, delivered = self._engine, len(account.delivered)
        if not delivered:
            engine.ledger.unheard += 1
        engine.emit(
            Published(
                hub=engine.hub,
                topic=topic,
                sender=origin.sender,
                delivered=delivered,
                lost=sent - delivered,
                cause=origin.trail.cause,
            )
        )

    def _everyone(self, payload: type) -> list[Subscriber]:
        agents = self._directory.agents.values()
        return [agent for agent in agents if agent.handlers.look_up(payload) is not None]

    def _deliver(  # noqa: PLR0917 - one call, here above
        self,
        recipients: Iterable[Subscriber],
        payload: object,
        origin: Origin,
        terms: Terms,
        lasting: float,
        account: _Account,
    ) -> list[tuple[Place, Parcel]]:
        """Deliver wherever there is room, without letting anybody else run; return those without room."""
        full: list[tuple[Place, Parcel]] = []
        engine, sender, trail, delivered = self._engine, origin.sender, origin.trail, account.delivered
        stamps, payload_class, now = engine.stamps, type(payload), engine.stamps.clock()
        type_ = _type_of(terms)
        if trail.trace is None:  # all of them belong to one trace
            trail = Trail(trace=stamps.message_id(stamps.count + 1, now))
        for recipient in recipients:
            agent = recipient.id
            if agent == sender:
                continue
            handlers = recipient.handlers
            handler = handlers.exact.get(payload_class) or handlers.look_up(payload_class)
            desk: Place = recipient.desk or recipient.open_desk(engine)
            stamps.count += 1
            parcel = engine.new_parcel(desk, handler or NOBODY, payload, type_, sender, terms, trail, stamps.count, now)
            if lasting < math.inf:
                parcel.deadline = now + lasting
            if handler is None:
                account.not_handled.append(agent)
                engine.ledger.lose(parcel, DeadReason.UNHANDLED)
            elif desk.accept(parcel):
                delivered.append(agent)
                if lasting < math.inf:
                    desk.arm(parcel)
            else:
                full.append((desk, parcel))
        return full

    async def _insist(self, full: list[tuple[Place, Parcel]], patience: float, account: _Account) -> None:
        """Try the full ones again, now that others have had their turn; who is still full is served by its policy."""
        patient: list[tuple[Desk, Parcel]] = []
        for desk, parcel in full:
            if self._try(desk, parcel, account):
                continue
            if patience > 0 and desk.overflow == "wait" and isinstance(desk, Desk):
                patient.append((desk, parcel))
            elif desk.displaces(parcel):
                account.delivered.append(desk.id)
            else:
                self._note_full(parcel, account)
        if patient:
            async with create_task_group() as tasks:
                for desk, parcel in patient:
                    tasks.start_soon(self._wait_for_room, desk, parcel, patience, account)

    def _try(self, desk: Place, parcel: Parcel, account: _Account) -> bool:
        """Deliver to somebody who was full before; whether that, or the chance of it, is over."""
        if desk.closing:
            self._note_stopped(parcel, account)
        elif desk.accept(parcel):
            account.delivered.append(desk.id)
            desk.arm(parcel)
        else:
            return False
        return True

    async def _wait_for_room(self, desk: Desk, parcel: Parcel, patience: float, account: _Account) -> None:
        if self._try(desk, parcel, account):  # others had their turn before this task got its own
            return
        try:
            await desk.wait_for_room(parcel, patience)
        except MailboxFull:
            self._note_full(parcel, account)
        except DeliveryError:
            self._note_stopped(parcel, account)
        else:
            account.delivered.append(desk.id)

    def _note_full(self, parcel: Parcel, account: _Account) -> None:
        account.full.append(parcel.recipient.id)
        self._engine.ledger.lose(parcel, DeadReason.MAILBOX_FULL)

    def _note_stopped(self, parcel: Parcel, account: _Account) -> None:
        closed = self._directory.phase is Phase.CLOSED
        account.stopped.append(parcel.recipient.id)
        self._engine.ledger.lose(parcel, DeadReason.HUB_STOPPED if closed else DeadReason.RECIPIENT_GONE)
