"""A hub as pages show it: which of its agents are looked at, and what is known of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from stagepost._dataclasses import dataclass
from stagepost.hub import (
    AgentDescription,
    AgentMetrics,
    DeadLetter,
    GroupDescription,
    Hub,
    HubMetrics,
    StuckAgent,
    Traffic,
)

from ._hub_pace import HubPace, Pace

SLOW: Final = 10.0  # seconds of one message from which on an agent counts as stuck
MOST_AGENTS: Final = 25


@dataclass(frozen=True, slots=True)
class AgentSeen:
    """An agent of a hub.

    Attributes:
        described: As it was registered.
        metrics: Its counts.
        stuck: What it has been handling for long; None if there is no such message.
    """

    described: AgentDescription
    metrics: AgentMetrics
    stuck: StuckAgent | None


@dataclass(frozen=True, slots=True)
class HubSeen:
    """A hub at one moment.

    Attributes:
        name: Its name.
        metrics: Its counts.
        agents: Those that are looked at: the stuck ones first, then those with messages that wait, then the others.
        count: How many agents it has.
        found: How many of these were asked for.
        listeners: Names and patterns of listeners.
        groups: Subscribers of which one gets each publication.
        stuck: Agents that have been handling one message for long.
        letters: Its dead letters, the latest first.
        traffic: What is on its way.
        pace: How fast it works.
    """

    name: str
    metrics: HubMetrics
    agents: Sequence[AgentSeen]
    count: int
    found: int
    listeners: Sequence[tuple[str, Sequence[str]]]
    groups: Sequence[GroupDescription]
    stuck: Sequence[StuckAgent]
    letters: Sequence[DeadLetter]
    traffic: Sequence[Traffic]
    pace: Pace


def seen(hub: Hub, pace: HubPace, *, at: float, text: str = "", skip: int = 0) -> HubSeen:
    """A hub as it is now.

    Args:
        hub: It.
        pace: What is known of it from before.
        at: Now, in seconds on a clock that does not jump.
        text: What the ids of the agents that are wanted contain.
        skip: How many of these were shown before.
    """
    topology, metrics, traffic = hub.describe(), hub.metrics(), hub.traffic()
    described = {agent.id: agent for agent in topology.agents}
    stuck = {each.agent: each for each in hub.stuck(longer_than=SLOW)}
    every = _wanted(described, stuck, metrics, text)
    wanted = every[skip : skip + MOST_AGENTS]
    counts = {agent: metrics.agents[agent] for agent in wanted}
    return HubSeen(
        name=hub.name,
        metrics=metrics,
        agents=[AgentSeen(described[agent], counts[agent], stuck.get(agent)) for agent in wanted],
        count=len(described),
        found=len(every),
        listeners=topology.listeners,
        groups=topology.groups,
        stuck=tuple(stuck.values()),
        letters=hub.dead_letters[::-1],
        traffic=traffic,
        pace=pace.look(at, metrics, counts, traffic),
    )


def _wanted(
    described: Mapping[str, AgentDescription], stuck: Iterable[str], metrics: HubMetrics, text: str
) -> Sequence[str]:
    deep = sorted(metrics.depths, key=lambda agent: -metrics.depths[agent])
    order = dict.fromkeys([*stuck, *deep, *described])
    return [agent for agent in order if agent in described and text in agent]
