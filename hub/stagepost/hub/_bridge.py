"""A bridge between two hubs."""

import math
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from time import time
from typing import Any, Final

from stagepost._dataclasses import dataclass

from ._arguments import check_flag, check_patterns
from ._events import DeadReason
from ._hub import Context, Hub
from ._limits import TIMEOUT
from ._message import Message, MessageType
from ._names import check_name
from ._origin import Carriage
from ._relays import NotCarried
from ._report import Delivery
from .errors import (
    AgentNotFound,
    AgentStopped,
    DeliveryError,
    HubNotStarted,
    HubStopped,
    InvalidArgument,
    KeyFailed,
    MailboxFull,
    NoHandler,
)

HOPS: Final = "bridge-hops"
"""The header with the names of the hubs that a publication has been on, in the order in which it came there."""
MARK: Final = "bridge-mark"
"""The header by which a hub knows a publication that comes on a second way."""
_MOST_HOPS: Final = 8
_REPORTS_KEPT: Final = 100

_REASONS: Final[Mapping[type[DeliveryError], DeadReason]] = {
    MailboxFull: DeadReason.MAILBOX_FULL,
    NoHandler: DeadReason.UNHANDLED,
    KeyFailed: DeadReason.UNHANDLED,
    AgentNotFound: DeadReason.RECIPIENT_GONE,
    AgentStopped: DeadReason.RECIPIENT_GONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What became of a publication on the other hub.

    Attributes:
        topic: The topic.
        source: The hub on which it was published.
        target: The hub to which it was carried.
        message_id: The message that the bridge got.
        delivery: Who got it there. If the other hub had stopped, ``stopped`` names the hub.
        at: When it was carried, in Unix seconds.
    """

    topic: str
    source: str
    target: str
    message_id: str
    delivery: Delivery
    at: float


class Bridge:
    """Joins two hubs of one event loop: carries publications, and makes agents of one hub known on the other.

    It is an agent on each of the two. What it carries keeps its payload, topic, headers, priority, time to live and
    trace, and has the original as its cause; its sender on the other hub is the bridge. Any number of hubs may be
    joined, in circles, too: a publication comes to each hub at most once, also on several ways, and passes at most
    eight bridges.

    A request to an agent of the other hub keeps its deadline and the chain of those who wait, so that a circle over
    several hubs is found, and its requester gets the same error as on the other hub. If it gives up, the handler there
    is cancelled. A one-way message waits for room there, so that only those who send to that agent have to wait.

    A bridge never blocks a publisher: if its mailbox is full, it is among `Delivery.full`. It ends when one of its hubs
    drains or stops. What it has not carried by then is a dead letter on the hub it came from.

    Args:
        first: A hub, before or after it is entered.
        second: Another one, with another name.
        topics: The publications that it carries: one or several patterns, as for `Hub.subscribe`.
        map: Agents to make known on the other hub: ``["cashier@plant"]``, under the same id there, or
            ``{"billing": "cashier@plant"}``, under another one. After the ``@`` is the name of the agent's hub.
        id: The bridge's id on both hubs.
        both_ways: Whether publications also go from the second hub to the first.
        mailbox: How many publications may wait in each direction; None for any number.

    Raises:
        InvalidArgument: The hubs have the same name, or another argument has the wrong type or value.
        InvalidName: An id has characters that are not allowed.
        InvalidTopic: A topic does not follow the grammar.
        DuplicateAgent: An id is taken on one of the hubs.
        HubStopped: One of the hubs drains or has stopped.
        WrongThread: One of the hubs was entered in another thread or event loop.
    """

    def __init__(
        self,
        first: Hub,
        second: Hub,
        *,
        topics: str | Iterable[str] = (),
        map: Mapping[str, str] | Iterable[str] = (),  # noqa: A002 - what it is
        id: str = "bridge",  # noqa: A002 - an agent has an id
        both_ways: bool = True,
        mailbox: int | None = 100,
    ) -> None:
        if first.name == second.name:
            raise InvalidArgument("second", second.name, "hubs are told apart by name: give each its own")
        self.id = check_name("agent id", id)
        self._hubs = {first.name: first, second.name: second}
        self._made: list[tuple[Hub, str]] = []
        self._reports: deque[Carried] = deque(maxlen=_REPORTS_KEPT)
        patterns, addresses = check_patterns(topics), self._addresses(map)
        ways = [(first, second), (second, first)] if check_flag("both_ways", both_ways) else [(first, second)]
        try:
            for source, target in ways:
                if patterns:
                    self._add(source, self.id, _Ear(self, target).carry, topics=patterns, mailbox=mailbox)
            for hub, agent, target, remote in addresses:
                self._add_proxy(hub, agent, target, remote)
        except BaseException:
            self._end()
            raise
        for hub in (first, second):
            hub.relays().endings[self] = self._end

    @property
    def deliveries(self) -> tuple[Carried, ...]:
        """What became of the latest 100 publications on the other hub, oldest first."""
        return tuple(self._reports)

    async def close(self) -> None:
        """End the bridge: carry what it has heard, and remove its agents from both hubs."""
        made = self._leave()
        try:
            while made:
                hub, agent = made.pop()  # a proxy before the agent that waits for its requests
                if agent in hub.agents:
                    await hub.unregister(agent)
        finally:
            for hub, agent in made:  # the caller was cancelled
                hub.retire(agent)

    def note(self, report: Carried) -> None:
        """Keep the report of a publication; not for callers of a bridge."""
        self._reports.append(report)

    def _addresses(self, given: Mapping[str, str] | Iterable[str]) -> list[tuple[Hub, str, Hub, str]]:
        """For each agent: the hub on which it is to be known, its id there, its own hub, and its id on that."""
        pairs = given.items() if isinstance(given, Mapping) else [(None, address) for address in _listed(given)]
        found = []
        for local, address in pairs:
            remote, _, name = address.partition("@") if isinstance(address, str) else ("", "", "")
            if name not in self._hubs:
                names = " or ".join(f'"{remote or "agent"}@{hub}"' for hub in self._hubs)
                raise InvalidArgument("map", address, f"name an agent and its hub: {names}")
            check_name("agent id", remote)
            (other,) = (hub for hub in self._hubs.values() if hub.name != name)
            found.append((other, remote if local is None else local, self._hubs[name], remote))
        return found

    def _add(self, hub: Hub, agent: str, handler: object, **options: Any) -> None:
        hub.register(agent, handler, overflow="reject" if "topics" in options else "wait", **options)
        self._made.append((hub, agent))
        hub.mark_relay(agent)

    def _add_proxy(self, hub: Hub, agent: str, target: Hub, remote: str) -> None:
        """Let an agent of another hub be known on this one.

        The proxy sends one message after the other, in order. Requests wait for their replies at another agent.
        """
        asker = f"{self.id}-requests"
        if (hub, asker) not in self._made:
            self._add(hub, asker, _Asker(self.id, target).ask, concurrency=None, mailbox=None)
        self._add(hub, agent, _Proxy(self.id, asker, target, remote).pass_on)

    def _end(self) -> None:
        """End without waiting."""
        for hub, agent in self._leave():
            hub.retire(agent)

    def _leave(self) -> list[tuple[Hub, str]]:
        """Forget all that it is on the two hubs, and return it."""
        for hub in self._hubs.values():
            hub.relays().endings.pop(self, None)
        made, self._made = self._made, []
        return made


class _Ear:
    """One direction of a bridge for publications."""

    def __init__(self, bridge: Bridge, target: Hub) -> None:
        self._bridge = bridge
        self._target = target

    async def carry(self, message: Message[Any], context: Context) -> None:
        """Publish on the other hub what was published on this one. Other messages are for somebody else."""
        if message.topic is None:
            return
        hub, target = context.hub, self._target
        visited = [*message.headers.get(HOPS, "").split(), hub.name]
        if target.name in visited:
            return
        if len(visited) > _MOST_HOPS:
            raise NotCarried(DeadReason.TOO_MANY_HOPS)
        mark = message.headers.get(MARK) or hub.relays().mark(context.envelope, hub.place().stamps)
        if not target.relays().is_new(mark):
            return
        headers = {**message.headers, HOPS: " ".join(visited), MARK: mark}
        try:
            delivery = await target.publish(
                message.topic,
                message.data,
                ttl=_time_left(context),
                sender=self._bridge.id,
                headers=headers,
                priority=message.priority,
                cause=_carriage(context),
            )
        except (HubNotStarted, HubStopped):
            target.relays().forget(mark)
            self._note(message.topic, message.id, hub, Delivery(stopped=(target.name,)))
            raise NotCarried(DeadReason.HUB_STOPPED) from None
        self._note(message.topic, message.id, hub, delivery)

    def _note(self, topic: str, message_id: str, hub: Hub, delivery: Delivery) -> None:
        self._bridge.note(
            Carried(
                topic=topic,
                source=hub.name,
                target=self._target.name,
                message_id=message_id,
                delivery=delivery,
                at=time(),
            )
        )


@dataclass(frozen=True, slots=True)
class Question:
    """A request for an agent of another hub.

    Attributes:
        recipient: Its id there.
        data: The payload.
    """

    recipient: str
    data: object


class _Proxy:
    """Stands for an agent of another hub."""

    def __init__(self, bridge: str, asker: str, target: Hub, remote: str) -> None:
        self._bridge = bridge
        self._asker = asker
        self._target = target
        self._remote = remote

    async def pass_on(self, message: Message[Any], context: Context) -> None:
        """Send a one-way message on, or let a request be made."""
        if message.type is MessageType.REQUEST:
            await context.forward(self._asker, Question(self._remote, message.data))
            return
        try:
            await self._target.send(
                self._remote,
                message.data,
                timeout=TIMEOUT,
                ttl=_time_left(context),
                sender=self._bridge,
                headers=message.headers,
                priority=message.priority,
                cause=_carriage(context),
            )
        except DeliveryError as error:
            raise NotCarried(_reason(error)) from None


class _Asker:
    """Waits for the replies of another hub."""

    def __init__(self, bridge: str, target: Hub) -> None:
        self._bridge = bridge
        self._target = target

    def ask(self, message: Message[Question], context: Context) -> object:
        """Make a request on the other hub, or read a stream there."""
        return self._read(message, context) if context.wants_parts else self._ask(message, context)

    async def _read(self, message: Message[Question], context: Context) -> AsyncIterator[object]:
        question = message.data
        parts = self._target.stream(
            question.recipient,
            question.data,
            timeout=None,
            sender=self._bridge,
            headers=message.headers,
            priority=message.priority,
            cause=_carriage(context),
        )
        try:
            async for part in parts:
                yield part
        except DeliveryError as error:
            raise NotCarried(error.with_traceback(None)) from None
        finally:
            await parts.aclose()

    async def _ask(self, message: Message[Question], context: Context) -> object:
        question = message.data
        try:
            return await self._target.request(
                question.recipient,
                question.data,
                timeout=None,
                sender=self._bridge,
                headers=message.headers,
                priority=message.priority,
                cause=_carriage(context),
            )
        except DeliveryError as error:
            raise NotCarried(error.with_traceback(None)) from None


def _listed(given: object) -> Iterable[object]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidArgument("map", given, 'use a list of addresses, ["agent@hub"], or a dict from ids to addresses')
    return given


def _reason(error: DeliveryError) -> DeadReason:
    return next((reason for kind, reason in _REASONS.items() if isinstance(error, kind)), DeadReason.HUB_STOPPED)


def _carriage(context: Context) -> Carriage:
    return Carriage(context.envelope, context.hub.place())


def _time_left(context: Context) -> float | None:
    """How long a one-way message is still valid; None for ever."""
    due = context.envelope.deadline
    return None if due == math.inf else max(0.0, due - context.hub.place().stamps.clock())
