"""The agents of a hub, and when each may be reached."""

from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from stagepost._dataclasses import dataclass

from ._blueprint import Blueprint
from ._emitter import Emitter
from ._endpoint import Endpoint, Overflow
from ._engine import Engine, Planned
from ._events import AgentRegistered, AgentUnregistered, SubscriptionAdded, SubscriptionRemoved
from ._groups import BEST, Groups, Standing
from ._handlers import Handlers
from ._listener import Listener
from ._metrics import AgentCounts, AgentMetrics, latency, merged, new_buckets
from ._relays import Relays
from ._supervision import Supervision
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of an agent; equal options are shared by many agents.

    Attributes:
        concurrency: How many messages it handles at once; infinity for any number.
        mailbox: How many messages may wait; infinity for any number.
        overflow: What its full mailbox does with one more message.
        supervision: What happens when it fails.
        detach: Whether its handlers continue when the requester no longer waits.
        relays: Whether it belongs to a bridge: it gets no broadcasts, and `request_many` does not ask it.
    """

    concurrency: float
    mailbox: float
    overflow: Overflow
    supervision: Supervision
    detach: bool
    relays: bool = False


class Registration:
    """An agent as it was registered. Everything else is created with its first message.

    Attributes:
        endpoint: Its endpoint, once it had a message.
        patterns: Its subscriptions, each with the group with which it shares the publications.
        refused: How many sends and requests were refused.
        timers: The timers that end with it, if it ever had one: those that send to it, or that it has planned.
    """

    __slots__ = ("blueprint", "endpoint", "handlers", "id", "options", "patterns", "refused", "timers")

    def __init__(self, agent: str, handlers: Handlers, options: Options, blueprint: Blueprint | None = None) -> None:
        self.id = agent
        self.handlers = handlers
        self.options = options
        self.blueprint = blueprint
        self.patterns: dict[str, str | None] = {}
        self.endpoint: Endpoint | None = None
        self.refused = 0
        self.timers: dict[Planned, None] | None = None

    def metrics(self) -> Callable[[], AgentMetrics]:
        """Take a snapshot of the counts; the result builds the value from it."""
        return (
            partial(AgentMetrics, refused=self.refused)
            if self.endpoint is None
            else self.endpoint.metrics(self.refused)
        )

    def standing(self) -> Standing:
        """How well it can take one more message."""
        return BEST if self.endpoint is None else self.endpoint.workers.standing()

    def open_endpoint(self, engine: Engine) -> Endpoint:
        """Start to take messages."""
        endpoint = self.endpoint = self.new_endpoint(engine)
        endpoint.supervise(self.options.supervision, self.blueprint)
        return endpoint

    def new_endpoint(self, engine: Engine) -> Endpoint:
        """A closed endpoint, for messages that arrive after the agent has left."""
        options = self.options
        return Endpoint(
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
        if registration is not None and registration.endpoint is not None:
            self._left = merged([self._left, registration.endpoint.tally.totals])
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
        endpoints = self.endpoints()
        return {
            "agents": AgentCounts({agent.id: agent.metrics() for agent in self._all()}),
            "latency": latency(merged([self._left, *(endpoint.tally.totals for endpoint in endpoints)])),
            "depths": MappingProxyType({endpoint.id: endpoint.depth for endpoint in endpoints if endpoint.depth}),
            "blocked": sum(endpoint.blocked for endpoint in endpoints),
            "waiting": tuple(
                (requester, endpoint.id) for endpoint in endpoints for requester in endpoint.tally.requesters
            ),
        }

    def has(self, agent: str) -> bool:
        """Whether an agent is there, or has not ended yet."""
        return agent in self.agents or agent in self._leaving

    def endpoints(self) -> list[Endpoint]:
        """The endpoints of all agents, including those that are leaving."""
        return [registration.endpoint for registration in self._all() if registration.endpoint is not None]

    def note_refusal(self, agent: object) -> None:
        """Count a refused message, if its recipient exists."""
        registration = self.agents.get(agent) if isinstance(agent, str) else None
        if registration is not None:
            registration.refused += 1

    def _all(self) -> list[Registration]:
        return [*self.agents.values(), *self._leaving.values()]

    def endpoint_of(self, agent: str) -> Endpoint | None:
        """The endpoint of an agent, also of one that is leaving; None if it has none."""
        registration = self.agents.get(agent) or self._leaving.get(agent)
        return None if registration is None else registration.endpoint

    def _absence(self, agent: str) -> AgentNotFound | AgentStopped:
        return AgentStopped(agent) if agent in self._leaving else AgentNotFound(agent, self._hub, self.agents)
