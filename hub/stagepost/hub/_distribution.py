"""The distribution of a publication: the result for each recipient so far."""

import math
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from ._directory import Directory, Subscriber
from ._endpoint import Endpoint
from ._engine import Engine
from ._envelope import Envelope, Terms, Trail
from ._events import DeadReason, Published
from ._groups import Group, Room
from ._handlers import NOBODY, Handler
from ._listener import Listener
from ._message import MessageType, Priority
from ._origin import Origin
from ._publication import Publication
from ._report import Delivery
from .errors import DeliveryError, MailboxFull

Target: TypeAlias = Endpoint | Listener


class Distribution:
    """Puts one payload into the mailboxes of many recipients, as a `Publication`, or in envelopes if it must.

    Attributes:
        type: The kind of message.
        waiting: The full recipients, with their envelopes.
    """

    __slots__ = (
        "_delivered",
        "_directory",
        "_due",
        "_engine",
        "_full",
        "_groups",
        "_is_offering",
        "_is_shared",
        "_not_handled",
        "_now",
        "_origin",
        "_payload",
        "_publication",
        "_refusal",
        "_stopped",
        "_taken",
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
        self._is_shared = (
            lasting == math.inf
            and terms.priority is Priority.NORMAL
            and engine.shares
            and _hashes_plainly(type(type(payload)))  # its handlers are looked up once more, by the worker
        )
        self._publication: Publication
        self._delivered: list[str] = []
        self._full: list[str] = []
        self._not_handled: list[str] = []
        self._stopped: list[str] = []
        self.waiting: list[tuple[Target, Envelope]] = []
        self._groups: dict[Envelope, tuple[Group[Subscriber], Subscriber]] | None = None
        self._taken: set[Subscriber] = set()
        self._is_offering = False
        self._refusal: DeliveryError | None = None

    def deliver(self, recipients: Iterable[Subscriber]) -> None:
        """Deliver wherever there is room, without letting anybody else run."""
        engine, payload, sender, terms = self._engine, self._payload, self._origin.sender, self._terms
        stamps, now, trail, delivered = engine.stamps, self._now, self._trail, self._delivered
        account, payload_class = engine.account, type(payload)
        number = before = stamps.count
        if trail.trace is None:  # all of them belong to one trace, named after the first message
            trail = Trail(trail.cause, stamps.message_id(before + 1, now))
        publication = self._publication = Publication(payload, self.type, sender, terms, trail, before + 1, now)
        shared = self._is_shared and not account.observed
        for recipient in recipients:
            agent = recipient.id
            if agent == sender:
                continue
            handlers = recipient.handlers
            own = handlers.exact.get(payload_class)
            handler = own or handlers.look_up(payload_class)
            if handler is None and terms.topic is None:
                continue
            try:
                endpoint: Target = recipient.endpoint or recipient.open_endpoint(engine, payload)
            except DeliveryError as error:
                self._miss(recipient, error)
                continue
            if stamps.count != number:  # code of others has sent, such as a function for keys or an observer
                number = stamps.count
                publication = self._publication = publication.continued(number + 1)
            stamps.count = number = number + 1
            if shared and handler is not None and endpoint.take(publication):
                if own is None:
                    publication.keep(handlers, handler)
                account.accepted += 1
                delivered.append(agent)
            else:
                self._deliver_to(endpoint, handler)
        if stamps.count > before:
            self._trail = trail

    def _deliver_to(self, endpoint: Target, handler: Handler | None) -> None:
        """Deliver an envelope."""
        envelope = self._publication.envelope(endpoint, handler or NOBODY, self._engine.new_envelope)
        envelope.deadline = self._due
        if handler is None:
            self._not_handled.append(endpoint.id)
            self._engine.account.lose(envelope, DeadReason.UNHANDLED)
        elif endpoint.accept(envelope):
            self._delivered.append(endpoint.id)
            endpoint.arm(envelope)
        else:
            self.waiting.append((endpoint, envelope))

    def share(self, group: Group[Subscriber], *, alone: bool) -> None:
        """Deliver to one member of a group, unless there is nobody but those who get it anyway.

        Args:
            group: The group.
            alone: Whether nobody else has run since the publication began.
        """
        kind, refusal = type(self._payload), None
        while (member := group.choose(kind, self._gets_no_share)) is not None:
            if refusal is not None and member.handlers.look_up(kind) is None:
                break  # nobody else handles it
            self._taken.add(member)
            error = self._offer(group, member, alone=alone)
            if error is None:
                return
            refusal = refusal or (member, error)
        if refusal is not None:
            self._miss(*refusal)

    def _offer(self, group: Group[Subscriber], member: Subscriber, *, alone: bool) -> DeliveryError | None:
        """Deliver to a member of a group; why it cannot take it, if that depends on the payload: another one may."""
        before, self._refusal = len(self.waiting), None
        self._is_offering = True
        self.deliver((member,) if alone else self.present((member,)))
        self._is_offering = False
        if len(self.waiting) > before:
            _, envelope = self.waiting[-1]
            self._groups = self._groups or {}
            self._groups[envelope] = group, member
        return self._refusal

    def note_served(self, recipients: Iterable[Subscriber]) -> None:
        """Note who gets it by subscriptions of their own, before the groups are served."""
        self._taken.update(recipients)

    def _gets_no_share(self, member: Subscriber) -> bool:
        return member.id == self._origin.sender or member in self._taken

    def target(self, endpoint: Target, envelope: Envelope) -> Target:
        """The recipient that is to be tried now: in a group, another member that has room by now, if there is one."""
        if self._groups is None or envelope not in self._groups:
            return endpoint
        group, member = self._groups[envelope]
        while True:
            chosen = group.choose(type(self._payload), self._gets_no_share)
            handler = None if chosen is None else chosen.handlers.look_up(type(self._payload))
            if chosen is None or handler is None or not (endpoint.closing or chosen.standing().room is Room.FREE):
                return endpoint
            try:
                another = chosen.endpoint or chosen.open_endpoint(self._engine, self._payload)
            except DeliveryError:  # it has no instance for this payload
                self._taken.add(chosen)
            else:
                break
        self._taken.discard(member)
        self._taken.add(chosen)
        self._groups[envelope] = group, chosen
        envelope.recipient, envelope.handler = another, handler
        return another

    def _name(self, envelope: Envelope) -> str:
        """The name for the report of a recipient that does not get it: a group has one for all its members."""
        shared = None if self._groups is None else self._groups.get(envelope)
        return envelope.recipient.id if shared is None else shared[0].name

    def present(self, recipients: Iterable[Subscriber]) -> Iterator[Subscriber]:
        """The recipients that can still be served after others have run; records the rest."""
        is_open = self._directory.is_open(inside=self._origin.inside)
        for recipient in recipients:
            if is_open and self._directory.holds(recipient):
                yield recipient
            elif recipient.id != self._origin.sender and recipient.handlers.look_up(type(self._payload)) is not None:
                self._come_too_late(recipient)

    def _miss(self, recipient: Subscriber, error: DeliveryError) -> None:
        """No instance of a recipient can take it: there are too many, or its payload has no key."""
        if self._is_offering:
            self._refusal = error
            return
        envelope = self._never_delivered(recipient)
        if isinstance(error, MailboxFull):
            self.note_full(envelope)
        else:
            engine = self._engine
            engine.log.error("no key for a publication", hub=engine.hub, agent=recipient.id, exc_info=error.__cause__)
            self._not_handled.append(recipient.id)
            engine.account.lose(envelope, DeadReason.UNHANDLED)

    def _come_too_late(self, recipient: Subscriber) -> None:
        self.note_stopped(self._never_delivered(recipient))

    def _never_delivered(self, recipient: Subscriber) -> Envelope:
        """The record of a message that no mailbox gets."""
        engine, stamps = self._engine, self._engine.stamps
        endpoint = (
            recipient if isinstance(recipient, Listener) else recipient.endpoint or recipient.new_endpoint(engine)
        )
        stamps.count += 1
        self._trail = self._publication.trail
        return self._publication.continued(stamps.count).envelope(endpoint, NOBODY, engine.new_envelope)

    def deliver_again(self, endpoint: Target, envelope: Envelope) -> bool:
        """Deliver to a recipient that was full before; True if this is settled, delivered or not."""
        if endpoint.closing:
            self.note_stopped(envelope)
        elif endpoint.accept(envelope):
            endpoint.arm(envelope)
            self.note_delivered(envelope)
        else:
            return False
        return True

    def note_delivered(self, envelope: Envelope) -> None:
        """A recipient that was full has taken it."""
        self._delivered.append(envelope.recipient.id)

    def note_full(self, envelope: Envelope) -> None:
        """A recipient had no room in time."""
        self._full.append(self._name(envelope))
        self._engine.account.lose(envelope, DeadReason.MAILBOX_FULL)

    def note_stopped(self, envelope: Envelope) -> None:
        """A recipient has left, or the hub takes no more."""
        is_open = self._directory.is_open(inside=self._origin.inside)
        self._stopped.append(self._name(envelope))
        self._engine.account.lose(envelope, DeadReason.RECIPIENT_GONE if is_open else DeadReason.HUB_STOPPED)

    def event(self) -> Published:
        """The event for the observer."""
        return Published(
            hub=self._engine.hub,
            topic=self._terms.topic,
            sender=self._origin.sender,
            delivered=len(self._delivered),
            lost=len(self._full) + len(self._not_handled) + len(self._stopped),
            cause=self._origin.trail.cause,
            trace=self._trail.trace,
        )

    def report(self) -> Delivery:
        """The report: who got it and who did not."""
        return Delivery(
            delivered=tuple(self._delivered),
            full=tuple(self._full),
            not_handled=tuple(self._not_handled),
            stopped=tuple(self._stopped),
            trace=self._trail.trace,
        )


def _hashes_plainly(metaclass: type) -> bool:
    """Whether classes of a class are compared by identity, without code of anybody."""
    return metaclass.__hash__ is type.__hash__ and metaclass.__eq__ is type.__eq__  # type: ignore[comparison-overlap]
