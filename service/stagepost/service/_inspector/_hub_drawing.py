"""The hub as a picture: the agents that are looked at, with what goes from one to another."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup

from .._drawing._hub_picture import OUTSIDE, Doing, HubAgent, HubGroup, HubWay, draw_hub
from .._verbs._hub_pace import Sent
from .._verbs._hub_seen import AgentSeen, HubSeen
from ._asking import Ask
from ._words import seconds

_LISTENERS: Final = 20  # that somebody can look at


def picture(ask: Ask, found: HubSeen) -> Markup:
    """The hub as an SVG."""
    agents = [_agent(ask, each, found) for each in found.agents]
    listeners = [
        HubAgent(name, topics=tuple(topics), is_listener=True) for name, topics in found.listeners[:_LISTENERS]
    ]
    topics = {each.name: each.topics for each in (*agents, *listeners)}
    ways = [*_sent(found, topics), *_waiting(found), *_planned(found)]
    groups = [HubGroup(group.topic, group.name, group.members) for group in found.groups]
    title = f"Who sends to whom on hub {found.name}"
    return draw_hub(found.name, [*agents, *listeners], ways, title=title, groups=groups)


def _agent(ask: Ask, each: AgentSeen, found: HubSeen) -> HubAgent:
    metrics, rate = each.metrics, found.pace.agents.get(each.described.id)
    notes = []
    if each.stuck is not None:
        notes.append(f"running {seconds(each.stuck.seconds)}")
    elif rate is not None and rate.handled:
        notes.append(f"{rate.handled:,.0f}/s" if rate.handled >= 1 else f"{rate.handled:.1f}/s")
    if metrics.depth:
        notes.append(f"{metrics.depth:,} waiting")
    href = ask.url("hub", "agents", each.described.id)
    return HubAgent(each.described.id, _doing(each), " · ".join(notes), href, each.described.topics)


def _doing(each: AgentSeen) -> Doing:
    if each.stuck is not None:
        return Doing.STUCK
    if each.metrics.depth:
        return Doing.BEHIND
    return Doing.WORKING if each.metrics.running else Doing.IDLE


def _sent(found: HubSeen, topics: dict[str, Sequence[str]]) -> Iterator[HubWay]:
    """What was seen on its way; a publication goes to the subscriptions by which its recipients got it."""
    now = {Sent(each.sender, each.recipient, each.topic) for each in found.traffic}
    for way in found.pace.ways:
        sender, is_busy = way.sender or OUTSIDE, way in now
        patterns = [each for each in topics.get(way.recipient, ()) if way.topic and matches(each, way.topic)]
        if way.topic:
            yield from (HubWay(sender, "", pattern, is_busy) for pattern in patterns)
        else:
            yield HubWay(sender, way.recipient, "", is_busy)


def _waiting(found: HubSeen) -> Iterator[HubWay]:
    """Requests that are open."""
    for requester, recipient in found.metrics.waiting:
        yield HubWay(requester, recipient, "", is_busy=True)


def _planned(found: HubSeen) -> Iterator[HubWay]:
    """What agents have planned to send to others."""
    for each in found.agents:
        for timer in each.described.timers:
            if timer.owner is not None and timer.owner != each.described.id:
                yield HubWay(timer.owner, each.described.id)


def matches(pattern: str, topic: str) -> bool:
    """Whether a subscription gets what is published to a topic."""
    words = [".+" if word == ">" else r"[^.]+" if word == "*" else re.escape(word) for word in pattern.split(".")]
    return re.fullmatch(r"\.".join(words), topic) is not None
