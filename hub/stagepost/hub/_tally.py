"""Counts of the messages of one agent."""

from collections.abc import Mapping
from typing import Final

from ._metrics import AgentMetrics, latency, new_buckets

_SHORT: Final = 10  # the buckets up to about a millisecond


class Tally:
    """Counts the messages of one agent, and how long they waited and were handled.

    Only `totals` is updated for each message. A worker updates the rest once per batch, the messages that it handles
    within about a millisecond, so that it costs next to nothing.

    Attributes:
        totals: How many messages took how long from being sent to their end, for `Latency`.
        spoilt: How many of them failed or were cancelled.
        failed: Messages whose handler raised.
        cancelled: Those whose handler was cancelled, or that were withdrawn.
        dead: Those that will never be handled.
        parts: How many parts of replies were streamed.
        requesters: How many open requests each other agent has here, by its id.
    """

    __slots__ = ("_handling", "_shift", "cancelled", "dead", "failed", "parts", "requesters", "spoilt", "totals")

    def __init__(self) -> None:
        self.failed = self.cancelled = self.dead = self.spoilt = self.parts = 0
        self.totals = new_buckets()
        self._handling: dict[int, int] = {}  # most buckets stay empty
        self._shift: dict[int, int] = {}
        self.requesters: dict[str, int] = {}

    def note_open(self, requester: str) -> None:
        """An agent has made a request."""
        self.requesters[requester] = self.requesters.get(requester, 0) + 1

    def note_over(self, requester: str) -> None:
        """An agent no longer waits for the answer of one request."""
        if self.requesters[requester] == 1:
            del self.requesters[requester]
        else:
            self.requesters[requester] -= 1

    def note(self, sent: float, began: float, ended: float, since: float, number: int) -> None:
        """Record a batch: its last message, the only one that may have been long, exactly; the others by their average.

        Args:
            sent: When the last message was sent.
            began: When its handler began.
            ended: When that ended.
            since: When the batch began.
            number: How many messages it has.
        """
        handling, last = self._handling, int((ended - began) * 1e6).bit_length()
        handling[last] = handling.get(last, 0) + 1
        if last > _SHORT:
            _add(self._shift, _bucket(ended - sent), -1)
            _add(self._shift, _bucket(began - sent), 1)
        if number > 1:
            _add(handling, _bucket((began - since) / (number - 1)), number - 1)

    def copy(self) -> "Tally":
        """A copy of the counts: building the public value takes some twenty times as long."""
        copy = object.__new__(Tally)  # `__init__` would only make values that are replaced here
        copy.failed, copy.cancelled, copy.dead, copy.spoilt = self.failed, self.cancelled, self.dead, self.spoilt
        copy.parts = self.parts
        copy.totals, copy._handling, copy._shift = self.totals.copy(), self._handling.copy(), self._shift.copy()
        return copy

    def read(
        self,
        *,
        refused: int,
        depth: int,
        blocked: int,
        running: int,
        running_since: float | None,
        instances: int | None = None,
    ) -> AgentMetrics:
        """The counts as a value, with the current state."""
        ended = sum(self.totals)
        handling = _with(new_buckets(), self._handling)
        handling[_SHORT] += ended - sum(handling)  # in a batch that has not ended: all of them were short
        return AgentMetrics(
            handled=ended - self.spoilt,
            failed=self.failed,
            cancelled=self.cancelled,
            dead=self.dead,
            refused=refused,
            parts=self.parts,
            depth=depth,
            blocked=blocked,
            running=running,
            running_since=running_since,
            instances=instances,
            # a message that was handled within about a millisecond spent most of its time waiting
            waiting=latency(_with(list(self.totals), self._shift)),
            handling=latency(handling),
        )


def _add(buckets: dict[int, int], bucket: int, number: int) -> None:
    buckets[bucket] = buckets.get(bucket, 0) + number


def _with(buckets: list[int], more: Mapping[int, int]) -> list[int]:
    for bucket, number in more.items():
        buckets[bucket] += number
    return buckets


def _bucket(seconds: float) -> int:
    return int(seconds * 1e6).bit_length()
