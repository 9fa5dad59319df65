"""Who is on a hub, and who may be reached when."""

from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from stagepost._dataclasses import dataclass

from ._blueprint import Blueprint
from ._desk import Desk, Overflow
from ._emitter import Emitter
from ._engine import Engine
from ._events import AgentRegistered, AgentUnregistered, SubscriptionAdded, SubscriptionRemoved
from ._handlers import Handlers
from ._listener import Listener
from ._metrics import AgentCounts, AgentMetrics, latency, merged, new_buckets
from ._supervision import Supervision
from ._topics import Topics
from .errors import AgentNotFound, AgentStopped, DuplicateAgent, HubStopped, InvalidName


class Phase(Enum):
    """The life of a hub: NEW until it is entered, RUNNING, DRAINING while only handlers may send, and then CLOSED.

    RUNNING may go to CLOSED directly, and no phase comes back.
    """

    NEW = 1
    RUNNING = 2
    DRAINING = 3
    CLOSED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How an agent wants to be treated; the same ones are shared by many agents.

    Attributes:
        concurrency: How many messages it handles at once; infinity for any number.
        mailbox: How many messages may wait; infinity for any number.
        overflow: What its full mailbox does with one more message.
        supervision: What its failure leads to.
        detach: Whether its handlers go on when the requester no longer waits.
    """

    concurrency: float
    mailbox: float
    overflow: Overflow
    supervision: Supervision
    detach: bool


class Registration:
    """An agent as it was registered. The rest comes with its first message.

    Attributes:
        desk: Where its messages go, once there was one.
        patterns: What it subscribed to.
        refused: How many sends and requests were refused.
    """

    __slots__ = ("blueprint", "desk", "handlers", "id", "options", "patterns", "refused")

    def __init__(self, agent: str, handlers: Handlers, options: Options, blueprint: Blueprint | None = None) -> None:
        self.id = agent
        self.handlers = handlers
        self.options = options
        self.blueprint = blueprint
        self.patterns: dict[str, None] = {}
        self.desk: Desk | None = None
        self.refused = 0

    def metrics(self) -> Callable[[], AgentMetrics]:
        """Notes what happened here so far; what it returns makes a value of that."""
        return partial(AgentMetrics, refused=self.refused) if self.desk is None else self.desk.metrics(self.refused)

    def open_desk(self, engine: Engine) -> Desk:
        """Begin to take messages."""
        desk = self.desk = self.new_desk(engine)
        desk.supervise(self.options.supervision, self.blueprint)
        return desk

    def new_desk(self, engine: Engine) -> Desk:
        """A desk that is not open: as it is, for what comes when the agent has left."""
        options = self.options
        return Desk(
            self.id,
            engine,
            concurrency=options.concurrency,
            mailbox=options.mailbox,
            overflow=options.overflow,
            detach=options.detach,
        )


Subscriber: TypeAlias = Registration | Listener


class Directory:
    """The registrations of a hub.

    Attributes:
        phase: Where the hub is in its life.
        agents: Who is registered.
        reachable: Those whom code outside of any handler may send to: all or none, by phase.
        topics: Who subscribed to what, agents and listeners.
        listeners: The listeners, which end with the hub.
    """

    __slots__ = ("_emitter", "_hub", "_leaving", "_left", "agents", "listeners", "phase", "reachable", "topics")

    def __init__(self, hub: str, emitter: Emitter) -> None:
        self._hub: Final = hub
        self._emitter: Final = emitter
        self._leaving: dict[str, Registration] = {}
        self._left = new_buckets()
        self.phase = Phase.NEW
        self.agents: dict[str, Registration] = {}
        self.reachable: dict[str, Registration] = {}
        self.topics: Topics[Subscriber] = Topics()
        self.listeners: dict[Listener, None] = {}

    def enter(self, phase: Phase) -> None:
        """Go on to a phase."""
        self.phase = phase
        self.reachable = self.agents if phase is Phase.RUNNING else {}

    def add(self, registration: Registration) -> None:
        """Register an agent.

        Raises:
            DuplicateAgent: The id is taken.
            HubStopped: It is too late.
        """
        agent = registration.id
        if self.phase in (Phase.DRAINING, Phase.CLOSED):
            raise HubStopped(agent, self._hub)
        if agent in self.agents or agent in self._leaving:
            raise DuplicateAgent(agent, self._hub)
        self.agents[agent] = registration
        if self._emitter.enabled:
            self._emitter.emit(AgentRegistered(hub=self._hub, agent=agent))

    def take_out(self, agent: str) -> Registration:
        """Let nobody reach an agent any more; its id stays taken until `remove`.

        Raises:
            AgentNotFound: There is none with this id.
            AgentStopped: It is leaving already.
        """
        registration = self.member(agent)
        del self.agents[agent]
        for _ in self.unsubscribe_all(registration):
            pass
        self._leaving[agent] = registration
        return registration

    def subscribe(self, subscriber_id: str, subscriber: Subscriber, topic: str) -> None:
        """Let somebody get what is published to a topic; once is enough.

        Raises:
            InvalidTopic: It is none.
        """
        if topic in subscriber.patterns:
            return
        self.topics.add(topic, subscriber)
        subscriber.patterns[topic] = None
        self._emitter.emit(SubscriptionAdded(hub=self._hub, subscriber=subscriber_id, topic=topic))

    def unsubscribe(self, subscriber_id: str, subscriber: Subscriber, topic: str) -> None:
        """End a subscription, if there is one."""
        if topic not in subscriber.patterns:
            return
        self.topics.discard(topic, subscriber)
        del subscriber.patterns[topic]
        self._emitter.emit(SubscriptionRemoved(hub=self._hub, subscriber=subscriber_id, topic=topic))

    def unsubscribe_all(self, registration: Registration) -> Iterator[None]:
        """End the subscriptions of an agent, one with each step."""
        for topic in tuple(registration.patterns):
            self.unsubscribe(registration.id, registration, topic)
            yield

    def holds(self, subscriber: Subscriber) -> bool:
        """Whether somebody who was here before still is."""
        return self.agents.get(subscriber.id) is subscriber or subscriber in self.listeners

    def is_open(self, *, inside: bool) -> bool:
        """Whether the hub takes messages: while it drains, only from handlers, which are inside."""
        return self.phase is not Phase.CLOSED and (inside or self.phase is not Phase.DRAINING)

    def check_open(self, what: str, *, inside: bool) -> None:
        """Refuse what comes when the hub does not take it any more.

        Raises:
            HubStopped: That is so.
        """
        if not self.is_open(inside=inside):
            raise HubStopped(what, self._hub)

    def remove(self, agent: str) -> None:
        """Free the id of an agent that has left."""
        registration = self._leaving.pop(agent, None)
        if registration is not None and registration.desk is not None:
            self._left = merged([self._left, registration.desk.tally.totals])
        if registration is not None and self._emitter.enabled:
            self._emitter.emit(AgentUnregistered(hub=self._hub, agent=agent))

    def find(self, agent: str, *, inside: bool) -> Registration:
        """Look an agent up that is not `reachable` for everybody.

        Args:
            agent: Its id.
            inside: Whether one of the hub's handlers asks, who may send while the hub drains.

        Raises:
            DeliveryError: It cannot be reached; its class says why.
        """
        self.check_open(agent, inside=inside)
        return self.member(agent)

    def member(self, agent: str) -> Registration:
        """An agent that is registered.

        Raises:
            AgentNotFound: There is none with this id.
            AgentStopped: It is leaving.
            InvalidName: It is no id.
        """
        if not isinstance(agent, str):
            raise InvalidName("agent id", agent)
        registration = self.agents.get(agent)
        if registration is None:
            raise self._absence(agent)
        return registration

    def standing(self) -> dict[str, Any]:
        """How things stand at the desks, by the names that `HubMetrics` has for them."""
        desks = self.desks()
        return {
            "agents": AgentCounts({agent.id: agent.metrics() for agent in self._all()}),
            "latency": latency(merged([self._left, *(desk.tally.totals for desk in desks)])),
            "depths": MappingProxyType({desk.id: desk.depth for desk in desks if desk.depth}),
            "blocked": sum(desk.blocked for desk in desks),
            "waiting": tuple((requester, desk.id) for desk in desks for requester in desk.tally.requesters),
        }

    def desks(self) -> list[Desk]:
        """The desks of all agents, also of those that are leaving."""
        return [registration.desk for registration in self._all() if registration.desk is not None]

    def note_refusal(self, agent: object) -> None:
        """Count a message that was refused, if it was for an agent that there is."""
        registration = self.agents.get(agent) if isinstance(agent, str) else None
        if registration is not None:
            registration.refused += 1

    def _all(self) -> list[Registration]:
        return [*self.agents.values(), *self._leaving.values()]

    def desk_of(self, agent: str) -> Desk | None:
        """The desk of an agent, also of one that is leaving; None if it has none."""
        registration = self.agents.get(agent) or self._leaving.get(agent)
        return None if registration is None else registration.desk

    def _absence(self, agent: str) -> AgentNotFound | AgentStopped:
        return AgentStopped(agent) if agent in self._leaving else AgentNotFound(agent, self._hub, self.agents)
