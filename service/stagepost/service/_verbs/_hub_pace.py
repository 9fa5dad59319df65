"""How fast a hub works: from what was counted when it was looked at."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from stagepost._dataclasses import dataclass
from stagepost.hub import AgentMetrics, HubMetrics, Traffic

_WINDOW: Final = 10.0  # seconds that rates are of
_APART: Final = 0.5  # seconds between two looks that are kept
_REMEMBERED: Final = 300.0  # seconds for which it is known who has sent to whom
_MOST_WAYS: Final = 1000


class Sent(NamedTuple):
    """Who has sent to whom."""

    sender: str | None
    recipient: str
    topic: str | None


class Rate(NamedTuple):
    """How many messages a second ended.

    Attributes:
        handled: Whose handler returned.
        failed: Whose handler raised.
    """

    handled: float
    failed: float


class _Look(NamedTuple):
    at: float
    handled: int
    failed: int
    agents: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a hub works.

    Attributes:
        whole: Of the hub; None at the first look.
        agents: Of agents that were looked at twice, by id.
        ways: Who has sent to whom in the last minutes, as far as it was seen.
    """

    whole: Rate | None
    agents: Mapping[str, Rate]
    ways: Sequence[Sent]


class HubPace:
    """Remembers some looks at a hub. Nothing is looked at while nobody wants to know."""

    def __init__(self) -> None:
        self._looks: deque[_Look] = deque()
        self._ways: dict[Sent, float] = {}

    def look(
        self, at: float, metrics: HubMetrics, agents: Mapping[str, AgentMetrics], traffic: Sequence[Traffic]
    ) -> Pace:
        """Take note of how a hub stands.

        Args:
            at: When, in seconds on a clock that does not jump.
            metrics: Of the hub.
            agents: Of the agents whose rates are wanted.
            traffic: What is on its way.
        """
        counts = {agent: (found.handled, found.failed) for agent, found in agents.items()}
        now = _Look(at, metrics.handled, metrics.failed, counts)
        while len(self._looks) > 1 and at - self._looks[1].at >= _WINDOW:
            self._looks.popleft()
        before = self._looks[0] if self._looks else None
        if not self._looks or at - self._looks[-1].at >= _APART:
            self._looks.append(now)
        self._remember(at, traffic)
        if before is None or at <= before.at:
            return Pace(None, {}, tuple(self._ways))
        rates = {agent: _rate(look, now, agent) for agent in counts if (look := self._first(agent, at)) is not None}
        span = at - before.at
        whole = Rate((now.handled - before.handled) / span, (now.failed - before.failed) / span)
        return Pace(whole, rates, tuple(self._ways))

    def _first(self, agent: str, at: float) -> _Look | None:
        """The first look that has an agent: not all looks are at all agents."""
        return next((look for look in self._looks if agent in look.agents and look.at < at), None)

    def _remember(self, at: float, traffic: Sequence[Traffic]) -> None:
        for each in traffic:
            self._ways[Sent(each.sender, each.recipient, each.topic)] = at
        kept = [(way, seen) for way, seen in self._ways.items() if at - seen < _REMEMBERED]
        self._ways = dict(sorted(kept, key=lambda each: each[1])[-_MOST_WAYS:])


def _rate(before: _Look, now: _Look, agent: str) -> Rate:
    """Of an agent; one that was registered anew in between began to count again."""
    (handled, failed), (was_handled, was_failed) = now.agents[agent], before.agents[agent]
    span = now.at - before.at
    return Rate(max(0, handled - was_handled) / span, max(0, failed - was_failed) / span)
