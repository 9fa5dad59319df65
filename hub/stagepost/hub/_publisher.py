"""Delivery of one message to many recipients."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from anyio import create_task_group

from ._directory import Directory, Subscriber
from ._distribution import Distribution
from ._endpoint import Endpoint
from ._engine import Engine
from ._envelope import Envelope, Terms
from ._expect import expected
from ._groups import Group
from ._inquiry import Inquiry
from ._limits import TIMEOUT, Duration, count, seconds
from ._message import MessageType
from ._origin import Origin
from ._registration import Registration
from ._replies import Replies
from ._report import Delivery
from ._router import Router
from .errors import DeliveryError, HubStopped, MailboxFull

_CHEAPER: Final = 2  # a delivery takes less than half as long as a call
_AT_ONCE: Final = 32  # deliveries between two checks of the time slice: cold agents take some 50 µs each
_TURNS: Final = 2  # trio runs ready tasks in random order: only after two checkpoints has every task surely run


class Publisher:
    """Delivers one payload to many endpoints, none of which can delay the others."""

    __slots__ = ("_directory", "_engine", "_router")

    def __init__(self, directory: Directory, engine: Engine, router: Router) -> None:
        self._directory = directory
        self._engine = engine
        self._router = router

    async def publish(
        self, payload: object, origin: Origin, terms: Terms, *, timeout: Duration | None, ttl: Duration | None
    ) -> Delivery:
        """Deliver to the subscribers of the topic in `terms`; without a topic, to every agent with a handler.

        The recipients are determined now. Other tasks may run before all of them are served: those that have left by
        then are reported as stopped.
        """
        self._engine.check_here("publish" if terms.topic else "broadcast")
        patience, lasting = seconds(timeout, "timeout"), seconds(ttl, "ttl")
        topic = terms.topic
        if not origin.inside and self._router.is_inside():
            origin = origin._replace(inside=True)
        distribution = Distribution(self._directory, self._engine, payload, origin, terms, lasting)
        try:
            self._directory.check_open("*" if topic is None else topic, inside=origin.inside)
        except HubStopped as error:
            self._router.note_refusal(error, "*", payload, distribution.type, origin, topic=topic)
            raise
        recipients = self._everybody() if topic is None else self._directory.topics.match(topic)
        if topic is None or self._directory.groups is None:
            await self._deliver(distribution, tuple(recipients))
        else:
            await self._share(distribution, tuple(recipients), self._directory.groups.match(topic))
        if distribution.waiting:
            for _ in range(_TURNS):
                await self._engine.time_slice.next()
            await self._insist(distribution, patience)
        event, report = distribution.event(), distribution.report()
        if not report.delivered:
            self._engine.account.unheard += 1
        self._engine.emit(event)
        return report

    async def ask(
        self,
        payload: object,
        origin: Origin,
        terms: Terms,
        *,
        timeout: Duration | None,
        enough: int | None,
        expect: object,
    ) -> Replies[Any]:
        """Send a request to the agents that subscribe to the topic in `terms`, and wait for their replies."""
        engine, topic = self._engine, terms.topic or "*"
        wanted, least = expected(expect), count("enough", enough)
        patience = engine.patience if timeout is TIMEOUT else seconds(timeout, "timeout")
        engine.check_here("request_many")
        if not origin.inside and self._router.is_inside():
            origin = origin._replace(inside=True)
        try:
            self._directory.check_open(topic, inside=origin.inside)
        except HubStopped as error:
            self._router.note_refusal(error, "*", payload, MessageType.REQUEST, origin, topic=topic)
            raise
        agents = self._answering(topic, type(payload), origin.sender)
        inquiry = Inquiry(
            engine,
            self._router,
            payload,
            origin,
            terms,
            due=engine.stamps.clock() + patience,
            enough=least,
            expect=expect,
            wanted=wanted,
        )
        return await inquiry.ask(agents)

    def _everybody(self) -> Iterable[Registration]:
        """All agents but those of bridges, which stand for agents of other hubs."""
        agents = self._directory.agents.values()
        return agents if self._directory.relays is None else [agent for agent in agents if not agent.options.relays]

    def _answering(self, topic: str, payload: type[Any], sender: str | None) -> Iterable[str]:
        """The agents to ask: all that subscribe alone, and one of each group, chosen when it is asked."""
        alone = [
            one
            for one in self._directory.topics.match(topic)
            if isinstance(one, Registration) and not one.options.relays
        ]
        groups = () if self._directory.groups is None else self._directory.groups.match(topic)
        agents = [agent.id for agent in alone if agent.id != sender]
        return chain(agents, _one_of_each(groups, payload, sender, set(alone))) if groups else agents

    async def _share(
        self, distribution: Distribution, recipients: Sequence[Subscriber], groups: Sequence[Group[Subscriber]]
    ) -> None:
        """Deliver to one member of each group, and to all that subscribe alone."""
        time_slice, alone = self._engine.time_slice, True
        distribution.note_served(recipients)
        for number, group in enumerate(groups):
            if time_slice.spend(len(group.members)) and number:
                await time_slice.next()
                alone = False
            distribution.share(group, alone=alone)
        await self._deliver(distribution, recipients, alone=alone)

    async def _deliver(
        self, distribution: Distribution, recipients: Sequence[Subscriber], *, alone: bool = True
    ) -> None:
        time_slice = self._engine.time_slice
        for start in range(0, len(recipients), _AT_ONCE):
            some = recipients[start : start + _AT_ONCE]
            if time_slice.spend(len(some) // _CHEAPER) and start:
                await time_slice.next()
                alone = False
            distribution.deliver(some if alone else distribution.present(some))

    async def _insist(self, distribution: Distribution, patience: float) -> None:
        """Try full recipients again after others have run; if still full, a recipient's policy applies."""
        time_slice = self._engine.time_slice
        patient: list[tuple[Endpoint, Envelope]] = []
        for endpoint, envelope in distribution.waiting:
            await time_slice.take()
            target = distribution.target(endpoint, envelope)
            if distribution.deliver_again(target, envelope):
                continue
            if patience > 0 and target.overflow == "wait" and isinstance(target, Endpoint):
                patient.append((target, envelope))
            elif target.displaces(envelope):
                distribution.note_delivered(envelope)
            else:
                distribution.note_full(envelope)
        if patient:
            async with create_task_group() as tasks:
                for endpoint, envelope in patient:
                    await time_slice.take()
                    tasks.start_soon(wait_for_room, distribution, endpoint, envelope, patience)


def _one_of_each(
    groups: Iterable[Group[Subscriber]], payload: type[Any], sender: str | None, taken: set[Registration]
) -> Iterator[str]:
    """The agent to ask in each group, chosen when it is asked for."""

    def is_out(member: Subscriber) -> bool:
        return not isinstance(member, Registration) or member.id == sender or member in taken

    for group in groups:
        member = group.choose(payload, is_out)
        if isinstance(member, Registration):
            taken.add(member)
            yield member.id


async def wait_for_room(distribution: Distribution, endpoint: Endpoint, envelope: Envelope, patience: float) -> None:
    """Let a message wait for room at a full recipient."""
    if distribution.deliver_again(endpoint, envelope):  # others ran before this task did
        return
    try:
        await endpoint.wait(envelope, endpoint.wait_for_room(envelope, patience))
    except MailboxFull:
        distribution.note_full(envelope)
    except DeliveryError:
        distribution.note_stopped(envelope)
    else:
        distribution.note_delivered(envelope)
