"""Metrics of a hub."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from stagepost._dataclasses import dataclass

_BUCKETS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long messages took, in seconds.

    They are counted in buckets, each twice as wide as the previous one, from a microsecond up; so a quantile is
    accurate to a factor of two, and never too low.

    Attributes:
        count: How many messages there were.
        buckets: How many of them took up to 2ⁿ µs and no less than half of that.
    """

    count: int = 0
    buckets: tuple[int, ...] = ()

    def quantile(self, share: float) -> float:
        """The time within which a share of the messages ended, such as 0.95; 0 if there were none."""
        wanted = math.ceil(share * self.count)
        seen = 0
        for exponent, number in enumerate(self.buckets):
            seen += number
            if seen >= max(wanted, 1):
                return float(1 << exponent) / 1e6
        return 0.0

    @property
    def mean(self) -> float:
        """The average time, counting each message as three quarters of its bucket's upper bound."""
        total = sum(number * 0.75 * (1 << exponent) / 1e6 for exponent, number in enumerate(self.buckets))
        return total / self.count if self.count else 0.0

    @property
    def max(self) -> float:
        """The time within which all of the messages ended."""
        return self.quantile(1)

    @property
    def p50(self) -> float:
        """The time within which half of the messages ended."""
        return self.quantile(0.5)

    @property
    def p95(self) -> float:
        """The time within which 95 of 100 messages ended."""
        return self.quantile(0.95)

    @property
    def p99(self) -> float:
        """The time within which 99 of 100 messages ended."""
        return self.quantile(0.99)


def new_buckets() -> list[int]:
    """Empty buckets: ``buckets[int(seconds * 1e6).bit_length()] += 1`` counts."""
    return [0] * _BUCKETS


def merged(several: Iterable[Sequence[int]]) -> list[int]:
    """Several buckets as one."""
    return list(map(sum, zip(*several, strict=True)))


def latency(buckets: Sequence[int]) -> Latency:
    """The buckets as a value."""
    return Latency(count=sum(buckets), buckets=tuple(buckets))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMetrics:
    """Counts of one agent since its first message, and its current state.

    Attributes:
        handled: Messages whose handler returned.
        failed: Messages whose handler raised.
        cancelled: Messages whose handler was cancelled, or whose requester withdrew them.
        dead: Messages that will never be handled, including lost publications.
        refused: Sends and requests that raised and were never accepted.
        parts: Parts of replies that its handlers have streamed.
        depth: Messages that wait in its mailbox.
        blocked: Senders that wait for room there.
        running: Messages that are being handled.
        running_since: When the oldest of them started, in Unix seconds; None if there are none.
        instances: How many instances it has, if it has one for each key; None otherwise.
        waiting: How long messages waited, from being sent to the start of their handler.
        handling: How long handlers took to return or raise.
    """

    handled: int = 0
    failed: int = 0
    cancelled: int = 0
    dead: int = 0
    refused: int = 0
    parts: int = 0
    depth: int = 0
    blocked: int = 0
    running: int = 0
    running_since: float | None = None
    instances: int | None = None
    waiting: Latency = field(default_factory=Latency)
    handling: Latency = field(default_factory=Latency)

    @property
    def in_flight(self) -> int:
        """Messages that wait in its mailbox or are being handled."""
        return self.depth + self.running


class AgentCounts(Mapping[str, AgentMetrics]):
    """The metrics of each agent by id, built from a snapshot when they are looked up.

    A hub may have thousands of agents; building the metrics of all of them takes ten times as long as a snapshot.
    """

    __slots__ = ("_noted",)

    def __init__(self, noted: Mapping[str, Callable[[], AgentMetrics]]) -> None:
        self._noted = noted

    def __getitem__(self, agent: str) -> AgentMetrics:
        return self._noted[agent]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._noted)

    def __len__(self) -> int:
        return len(self._noted)


@dataclass(frozen=True, slots=True, kw_only=True)
class HubMetrics:
    """Counts since the hub was entered, and its current state.

    ``accepted = handled + failed + cancelled + dead + in_flight``.

    Attributes:
        agents: Metrics of each agent by id, including agents that are leaving, without those that have left.
        sent: Messages that senders addressed to a recipient, one for each recipient of a publication, including refused
            ones.
        accepted: Messages that the hub took responsibility for: the delivered ones, and those that recipients of
            publications could not get, which are dead at once.
        delivered: Messages that found room in a mailbox.
        handled: Messages whose handler returned.
        failed: Messages whose handler raised.
        cancelled: Messages whose handler was cancelled, or whose requester withdrew them.
        dead: Messages that will never be handled; `Hub.dead_letters` says why.
        refused: Sends and requests that raised and were never accepted, including publications on a hub that takes no
            more.
        parts: Parts of replies that handlers have streamed.
        unheard: Publications and broadcasts that reached nobody.
        late_replies: Replies that came after their requester had given up.
        observer_failures: Events on which the observer failed.
        blocked: Senders that wait for room in a mailbox.
        depths: The number of messages in each non-empty mailbox, by agent.
        waiting: The open requests between agents, as pairs of requester and recipient: two that wait for each other
            appear as (a, b) and (b, a).
        latency: How long messages took, from being sent to the end of their handling.
    """

    agents: Mapping[str, AgentMetrics] = field(default_factory=lambda: MappingProxyType({}))
    sent: int = 0
    accepted: int = 0
    delivered: int = 0
    handled: int = 0
    failed: int = 0
    cancelled: int = 0
    dead: int = 0
    refused: int = 0
    parts: int = 0
    unheard: int = 0
    late_replies: int = 0
    observer_failures: int = 0
    blocked: int = 0
    depths: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    waiting: tuple[tuple[str, str], ...] = ()
    latency: Latency = field(default_factory=Latency)

    @property
    def in_flight(self) -> int:
        """Messages that wait in a mailbox or are being handled."""
        return self.accepted - self.handled - self.failed - self.cancelled - self.dead

    @property
    def lost(self) -> int:
        """Deliveries of publications that failed, usually because a mailbox was full."""
        return self.accepted - self.delivered

    @property
    def depth(self) -> int:
        """Messages that wait in mailboxes."""
        return sum(self.depths.values())
