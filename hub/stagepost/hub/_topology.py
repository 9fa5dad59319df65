"""Description of a hub: its agents and their subscriptions."""

import math

from stagepost._dataclasses import dataclass

from ._directory import Directory
from ._endpoint import Overflow
from ._registration import Registration
from ._supervision import Supervision


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerDescription:
    """A message that is to be sent later.

    Attributes:
        payload: The name of the payload's class.
        next_at: When it is sent next, in Unix seconds.
        every: The seconds between two messages; None for a single one.
        owner: The agent that has planned it, if one did.
        fired: How many messages were sent.
        skipped: How many were left out.
    """

    payload: str
    next_at: float
    every: float | None
    owner: str | None
    fired: int
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDescription:
    """An agent as it was registered.

    Attributes:
        id: Its id.
        payloads: The names of the payload classes it handles.
        topics: Its subscriptions.
        concurrency: How many messages it handles at once; None for any number.
        mailbox: How many messages may wait; None for any number.
        overflow: What a full mailbox does.
        supervision: What happens when it fails.
        detach: Whether handlers continue when the requester no longer waits.
        timers: What is to be sent to it later, the next one first.
        tasks: The names of the tasks that it owns.
        per: The name of the function that gives the keys of its instances, if it has one for each key.
        instances: How many instances it has, if it has one for each key.
    """

    id: str
    payloads: tuple[str, ...]
    topics: tuple[str, ...]
    concurrency: int | None
    mailbox: int | None
    overflow: Overflow
    supervision: Supervision
    detach: bool
    timers: tuple[TimerDescription, ...] = ()
    tasks: tuple[str, ...] = ()
    per: str | None = None
    instances: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDescription:
    """Subscribers of which one gets each publication.

    Attributes:
        topic: The pattern to which they subscribe.
        name: The group's name.
        members: The ids of its agents and listeners.
    """

    topic: str
    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The agents and listeners of a hub.

    Attributes:
        hub: The hub's name.
        agents: Its agents, in the order of registration.
        listeners: The patterns of its listeners, by name.
        groups: The groups in which some of them subscribe.
    """

    hub: str
    agents: tuple[AgentDescription, ...]
    listeners: tuple[tuple[str, tuple[str, ...]], ...] = ()
    groups: tuple[GroupDescription, ...] = ()

    def mermaid(self) -> str:
        """A Mermaid flowchart: topics on the left, with arrows to their subscribers, or to groups and their members."""
        subscribers = [(f"a{number}", agent.id, agent.topics) for number, agent in enumerate(self.agents)]
        subscribers += [(f"l{number}", name, topics) for number, (name, topics) in enumerate(self.listeners)]
        boxes = [f'    a{number}["{agent.id}<br/>{_text(agent.payloads)}"]' for number, agent in enumerate(self.agents)]
        ears = [f'    l{number}(["{name}"])' for number, (name, _) in enumerate(self.listeners)]
        rounds = [f'    g{number}(("one of<br/>{group.name}"))' for number, group in enumerate(self.groups)]
        patterns = dict.fromkeys(topic for _, _, topics in subscribers for topic in topics)
        nodes = {topic: f"t{number}" for number, topic in enumerate(patterns)}
        hexagons = [f'    {node}{{{{"{_escaped(topic)}"}}}}' for topic, node in nodes.items()]
        ways = {(member, group.topic): f"g{n}" for n, group in enumerate(self.groups) for member in group.members}
        edges = [f"    {nodes[group.topic]} --> g{number}" for number, group in enumerate(self.groups)]
        edges += [
            f"    {ways.get((name, topic), nodes[topic])} --> {node}"
            for node, name, topics in subscribers
            for topic in topics
        ]
        return "\n".join(["flowchart LR", *hexagons, *rounds, *boxes, *ears, *edges])


def describe(hub: str, directory: Directory) -> Topology:
    """Describe a hub as it is now."""
    return Topology(
        hub=hub,
        agents=tuple(_agent(registration) for registration in directory.agents.values()),
        listeners=tuple((listener.id, listener.topics) for listener in directory.listeners),
        groups=tuple(
            GroupDescription(topic=group.topic, name=group.name, members=tuple(sorted(one.id for one in group.members)))
            for group in directory.groups or ()
        ),
    )


def _agent(registration: Registration) -> AgentDescription:
    options = registration.options
    return AgentDescription(
        id=registration.id,
        payloads=tuple(cls.__qualname__ for cls in registration.handlers.exact),
        topics=tuple(registration.patterns),
        concurrency=_number(options.concurrency),
        mailbox=_number(options.mailbox),
        overflow=options.overflow,
        supervision=options.supervision,
        detach=options.detach,
        per=registration.key,
        instances=registration.instances,
        timers=_timers(registration),
        tasks=tuple(name for endpoint in registration.endpoints() for name in endpoint.workers.tasks()),
    )


def _timers(registration: Registration) -> tuple[TimerDescription, ...]:
    timers = [timer for timer in registration.timers or () if timer.recipient == registration.id]
    described = [
        TimerDescription(
            payload=timer.payload,
            next_at=timer.next_at,
            every=timer.every,
            owner=timer.owner,
            fired=timer.fired,
            skipped=timer.skipped,
        )
        for timer in timers
        if timer.next_at is not None
    ]
    return tuple(sorted(described, key=lambda timer: timer.next_at))


def _number(limit: float) -> int | None:
    return None if limit == math.inf else int(limit)


def _text(names: tuple[str, ...]) -> str:
    return _escaped(", ".join(names))


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
