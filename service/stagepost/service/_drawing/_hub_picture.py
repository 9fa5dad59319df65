"""A hub as a picture: topics, agents, and what goes from one to another."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from markupsafe import Markup

from ._boxes import Box
from ._marks import Mark
from ._outline import Kind, Way
from ._picture import picture_of

OUTSIDE: Final = ""  # the key of code that is no agent


class Doing(StrEnum):
    """What an agent does at this moment."""

    IDLE = "idle"
    WORKING = "working"
    BEHIND = "has messages waiting"
    STUCK = "stuck"


_MARKS: Final[Mapping[Doing, Mark]] = {
    Doing.IDLE: Mark.AHEAD,
    Doing.WORKING: Mark.RUNNING,
    Doing.BEHIND: Mark.WAITING,
    Doing.STUCK: Mark.FAILED,
}


class HubAgent(NamedTuple):
    """An agent to be drawn.

    Attributes:
        name: Its id.
        doing: What it does.
        note: What else is said of it, such as how much it handles.
        href: Address of its page.
        topics: What it subscribes to.
        is_listener: Whether it is no agent but a listener.
    """

    name: str
    doing: Doing = Doing.IDLE
    note: str = ""
    href: str | None = None
    topics: Sequence[str] = ()
    is_listener: bool = False


class HubWay(NamedTuple):
    """Messages from one agent to another one.

    Attributes:
        sender: Id of an agent; `OUTSIDE` for code that is none.
        recipient: Id of an agent; empty if they are published.
        topic: What they are published to; empty if they are sent.
        is_busy: Whether some are on their way at this moment.
    """

    sender: str
    recipient: str
    topic: str = ""
    is_busy: bool = False


class HubGroup(NamedTuple):
    """Subscribers of which one gets each publication.

    Attributes:
        topic: What they subscribe to.
        name: Of the group.
        members: Ids of agents and listeners.
    """

    topic: str
    name: str
    members: Sequence[str]


def draw_hub(
    name: str, agents: Sequence[HubAgent], ways: Sequence[HubWay], *, title: str, groups: Sequence[HubGroup] = ()
) -> Markup:
    """A hub as an SVG, with the topics above those who subscribe to them.

    Agents that nothing is known to come to or to go from are left out, unless there are no others.

    Args:
        name: Of the hub.
        agents: Those that are drawn.
        ways: Who sends to whom; those of agents that are not drawn are left out.
        title: What the picture shows, in a line.
        groups: Subscribers of which one gets each publication.
    """
    known = {agent.name for agent in agents}
    arrows = [*dict.fromkeys([*_subscriptions(agents, groups), *(_way(way) for way in ways if _is_drawn(way, known))])]
    busy = frozenset(_way(way) for way in ways if way.is_busy)
    linked = {end for way in arrows for end in (way.source, way.target)}
    boxes = [box for box in (*_topics(arrows), *map(_agent, agents)) if not arrows or box.key in linked]
    whole = Box(key="hub", name=name, kind=Kind.HUB, mark=Mark.AHEAD, inner=boxes, ways=arrows, busy=busy, words="open")
    return picture_of(whole, title=title)


def _subscriptions(agents: Sequence[HubAgent], groups: Sequence[HubGroup]) -> Iterator[Way]:
    """From topics to who subscribes to them, by way of groups."""
    within = {(member, group.topic): group for group in groups for member in group.members}
    for agent in agents:
        for topic in agent.topics:
            group = within.get((agent.name, topic))
            if group is None:
                yield Way(_topic(topic), _key(agent.name))
            else:
                yield Way(_topic(topic), f"group/{group.name}/{topic}")
                yield Way(f"group/{group.name}/{topic}", _key(agent.name))


def _way(way: HubWay) -> Way:
    return Way(_key(way.sender), _topic(way.topic) if way.topic else _key(way.recipient))


def _is_drawn(way: HubWay, known: set[str]) -> bool:
    ends = {way.sender} if way.topic else {way.sender, way.recipient}
    return ends - {OUTSIDE} <= known


def _topics(arrows: Sequence[Way]) -> Sequence[Box]:
    """Boxes of topics, groups, and the code outside, in the order in which they are met."""
    ends = dict.fromkeys(end for way in arrows for end in (way.source, way.target))
    found = []
    for end in ends:
        if end.startswith("topic/"):
            name = end.removeprefix("topic/")
            found.append(Box(key=end, name=name, kind=Kind.TOPIC, mark=Mark.AHEAD, words="published to"))
        elif end.startswith("group/"):
            group = end.split("/")[1]
            found.append(Box(key=end, name=f"one of {group}", kind=Kind.GROUP, mark=Mark.AHEAD, words="gets each"))
        elif end == _key(OUTSIDE):
            found.append(Box(key=end, name="no agent", kind=Kind.OUTSIDE, mark=Mark.AHEAD, words="sends"))
    return found


def _agent(agent: HubAgent) -> Box:
    return Box(
        key=_key(agent.name),
        name=agent.name,
        kind=Kind.LISTENER if agent.is_listener else Kind.AGENT,
        mark=_MARKS[agent.doing],
        note=agent.note,
        href=agent.href,
        words=agent.doing.value,
    )


def _key(agent: str) -> str:
    return f"agent/{agent}"


def _topic(topic: str) -> str:
    return f"topic/{topic}"
