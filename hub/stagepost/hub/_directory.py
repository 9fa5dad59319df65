"""The agents of a hub, and when each may be reached."""

from collections.abc import Iterator
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from ._emitter import Emitter
from ._endpoint import Endpoint
from ._events import AgentRegistered, AgentUnregistered, SubscriptionAdded, SubscriptionRemoved
from ._groups import Groups
from ._listener import Listener
from ._metrics import AgentCounts, latency, merged, new_buckets
from ._receiver import Receiver
from ._registration import Registration
from ._relays import Relays
from ._topics import Topics
from ._watches import Watches
from .errors import AgentNotFound, AgentStopped, DuplicateAgent, HubStopped, InvalidName


class Phase(Enum):
    """The phases of a hub: NEW until it is entered, RUNNING, DRAINING while only handlers may send, then CLOSED.

    RUNNING may go to CLOSED directly; no phase is entered twice.
    """

    NEW = 1
    RUNNING = 2
    DRAINING = 3
    CLOSED = 4


Subscriber: TypeAlias = Registration | Listener


class Directory:
    """The registrations of a hub.

    Attributes:
        phase: The hub's phase.
        agents: The registered agents.
        reachable: The agents that code outside handlers may send to: all or none, depending on the phase.
        topics: The subscriptions of agents and listeners, except those of groups.
        groups: The groups of subscribers, once there was one.
        listeners: The listeners; they end with the hub.
        watches: Who is to be told of the ends of agents, once somebody is.
        relays: What the bridges of the hub share, once there was one.
    """

    __slots__ = (
        "_emitter",
        "_hub",
        "_leaving",
        "_left",
        "agents",
        "groups",
        "listeners",
        "phase",
        "reachable",
        "relays",
        "topics",
        "watches",
    )

    def __init__(self, hub: str, emitter: Emitter) -> None:
        self._hub: Final = hub
        self._emitter: Final = emitter
        self._leaving: dict[str, Registration] = {}
        self._left = new_buckets()
        self.phase = Phase.NEW
        self.agents: dict[str, Registration] = {}
        self.reachable: dict[str, Registration] = {}
        self.topics: Topics[Subscriber] = Topics()
        self.groups: Groups[Subscriber] | None = None
        self.listeners: dict[Listener, None] = {}
        self.watches: Watches | None = None
        self.relays: Relays | None = None

    def enter(self, phase: Phase) -> None:
        """Enter a phase."""
        self.phase = phase
        self.reachable = self.agents if phase is Phase.RUNNING else {}
        if self.relays is not None and phase is not Phase.RUNNING:
            self.relays.end()

    def add(self, registration: Registration) -> None:
        """Register an agent.

        Raises:
            DuplicateAgent: The id is taken.
            HubStopped: The hub drains or has stopped.
        """
        agent = registration.id
        if self.phase in (Phase.DRAINING, Phase.CLOSED):
            raise HubStopped(agent, self._hub)
        if self.has(agent):
            raise DuplicateAgent(agent, self._hub)
        self.agents[agent] = registration
        if self._emitter.enabled:
            self._emitter.emit(AgentRegistered(hub=self._hub, agent=agent))

    def take_out(self, agent: str) -> Registration:
        """Make an agent unreachable; its id stays taken until `remove`.

        Raises:
            AgentNotFound: There is none with this id.
            AgentStopped: It is leaving already.
        """
        registration = self.member(agent)
        del self.agents[agent]
        for _ in self.release(registration):
            pass
        self._leaving[agent] = registration
        if self.watches is not None:
            self.watches.leave(agent)
        return registration

    def subscribe(self, subscriber_id: str, subscriber: Subscriber, topic: str, group: str | None = None) -> None:
        """Subscribe an agent or a listener to a topic, alone or in a group; subscribing twice has no effect.

        Who has subscribed in another group leaves that one.

        Raises:
            InvalidTopic: It is none.
        """
        if topic in subscriber.patterns:
            if subscriber.patterns[topic] == group:
                return
            self.unsubscribe(subscriber_id, subscriber, topic)
        if group is None:
            self.topics.add(topic, subscriber)
        else:
            if self.groups is None:
                self.groups = Groups()
            self.groups.join(topic, group, subscriber)
        subscriber.patterns[topic] = group
        self._emitter.emit(SubscriptionAdded(hub=self._hub, subscriber=subscriber_id, topic=topic, group=group))

    def unsubscribe(self, subscriber_id: str, subscriber: Subscriber, topic: str) -> None:
        """End a subscription, if there is one."""
        if topic not in subscriber.patterns:
            return
        group = subscriber.patterns.pop(topic)
        if group is None:
            self.topics.discard(topic, subscriber)
        else:
            assert self.groups is not None  # noqa: S101 - it has been since the first one joined
            self.groups.leave(topic, group, subscriber)
        self._emitter.emit(SubscriptionRemoved(hub=self._hub, subscriber=subscriber_id, topic=topic, group=group))

    def release(self, registration: Registration) -> Iterator[None]:
        """End the timers and the subscriptions of an agent, one per step."""
        for timer in tuple(registration.timers or ()):
            timer.end()
            yield
        for topic in tuple(registration.patterns):
            self.unsubscribe(registration.id, registration, topic)
            yield

    def holds(self, subscriber: Subscriber) -> bool:
        """Whether a registration or listener is still current."""
        return self.agents.get(subscriber.id) is subscriber or subscriber in self.listeners

    def is_open(self, *, inside: bool) -> bool:
        """Whether the hub takes messages: while it drains, only from its handlers."""
        return self.phase is not Phase.CLOSED and (inside or self.phase is not Phase.DRAINING)

    def check_open(self, what: str, *, inside: bool) -> None:
        """Refuse a message that the hub does not take any more.

        Raises:
            HubStopped: It does not.
        """
        if not self.is_open(inside=inside):
            raise HubStopped(what, self._hub)

    def remove(self, agent: str) -> None:
        """Free the id of an agent that has left."""
        registration = self._leaving.pop(agent, None)
        if registration is not None and self.watches is not None:
            self.watches.end(agent)
        if registration is not None and registration.receiver is not None:
            self._left = merged([self._left, registration.receiver.tally.counts()])
        if registration is not None and self._emitter.enabled:
            self._emitter.emit(AgentUnregistered(hub=self._hub, agent=agent))

    def find(self, agent: str, *, inside: bool) -> Registration:
        """Look up an agent that is not `reachable` for everybody.

        Args:
            agent: Its id.
            inside: Whether one of the hub's handlers asks; it may send while the hub drains.

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
            InvalidName: It is not a valid id.
        """
        if not isinstance(agent, str):
            raise InvalidName("agent id", agent)
        registration = self.agents.get(agent)
        if registration is None:
            raise self._absence(agent)
        return registration

    def standing(self) -> dict[str, Any]:
        """The state of the endpoints, by the names in `HubMetrics`."""
        receivers = [agent.receiver for agent in self._all() if agent.receiver is not None]
        return {
            "agents": AgentCounts({agent.id: agent.metrics() for agent in self._all()}),
            "latency": latency(merged([self._left, *(receiver.tally.counts() for receiver in receivers)])),
            "depths": MappingProxyType({receiver.id: receiver.depth for receiver in receivers if receiver.depth}),
            "blocked": sum(receiver.blocked for receiver in receivers),
            "waiting": tuple(
                (requester, receiver.id) for receiver in receivers for requester in receiver.tally.requesters
            ),
        }

    def has(self, agent: str) -> bool:
        """Whether an agent is there, or has not ended yet."""
        return agent in self.agents or agent in self._leaving

    def endpoints(self) -> list[Endpoint]:
        """The endpoints of all agents, including those that are leaving."""
        return [endpoint for registration in self._all() for endpoint in registration.endpoints()]

    def note_refusal(self, agent: object) -> None:
        """Count a refused message, if its recipient exists."""
        registration = self.agents.get(agent) if isinstance(agent, str) else None
        if registration is not None:
            registration.refused += 1

    def _all(self) -> list[Registration]:
        return [*self.agents.values(), *self._leaving.values()]

    def receiver_of(self, agent: str) -> Receiver | None:
        """What receives the messages of an agent, also of one that is leaving; None if it never had any."""
        registration = self.agents.get(agent) or self._leaving.get(agent)
        return None if registration is None else registration.receiver

    def _absence(self, agent: str) -> AgentNotFound | AgentStopped:
        return AgentStopped(agent) if agent in self._leaving else AgentNotFound(agent, self._hub, self.agents)
