"""Counts of the messages of one agent."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ._metrics import AgentMetrics, latency, new_buckets

_NOTHING: Final[dict[int, int]] = {}  # nobody adds to it
_NONE: Final[list[int]] = []  # the same
_NO_ONE: Final[dict[str, int]] = {}  # the same
_PLACES: Final = 64  # more than there are buckets
_SHORT: Final = 10  # the buckets up to about a millisecond


class Tally:
    """Counts the messages of one agent, and how long they waited and were handled.

    Only `totals` is updated for each message. A worker updates the rest once per batch, the messages that it handles
    within about a millisecond, so that it costs next to nothing.

    Attributes:
        totals: How many messages took how long from being sent to their end, for `Latency`; empty while it rests.
        spoilt: How many of them failed or were cancelled.
        failed: Messages whose handler raised.
        cancelled: Those whose handler was cancelled, or that were withdrawn.
        dead: Those that will never be handled.
        parts: How many parts of replies were streamed.
        requesters: How many open requests each other agent has here, by its id.
    """

    __slots__ = (
        "_handling",
        "_kept",
        "_shift",
        "cancelled",
        "dead",
        "failed",
        "parts",
        "requesters",
        "spoilt",
        "totals",
    )

    def __init__(self) -> None:
        self.failed = self.cancelled = self.dead = self.spoilt = self.parts = 0
        self.totals = new_buckets()
        self._handling: dict[int, int] = {}  # most buckets stay empty
        self._shift: dict[int, int] = {}
        self._kept: tuple[int | None, ...] | None = None
        self.requesters: dict[str, int] = _NO_ONE

    def note_open(self, requester: str) -> None:
        """An agent has made a request."""
        if self.requesters is _NO_ONE:
            self.requesters = {}
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

    def rest(self) -> None:
        """Take less memory until `wake`: its agent has no workers for now, and most buckets are empty."""
        if self._kept is None:
            self._kept = (*_packed(enumerate(self.totals)), None, *_packed(self._handling.items()), None,
                          *_packed(self._shift.items()))  # fmt: skip
            self.totals = _NONE
            self._handling = self._shift = _NOTHING

    def wake(self) -> list[int]:
        """Count again; returns the totals."""
        if self._kept is not None:
            packed, self._kept = iter(self._kept), None
            self.totals = _with(new_buckets(), _unpacked(packed))
            self._handling, self._shift = _unpacked(packed), _unpacked(packed)
        return self.totals

    def counts(self) -> list[int]:
        """The totals, also while it rests; not to be changed."""
        return self.totals if self._kept is None else _with(new_buckets(), _unpacked(iter(self._kept)))

    def copy(self) -> "Tally":
        """A copy of the counts: building the public value takes some twenty times as long."""
        copy = object.__new__(Tally)  # `__init__` would only make values that are replaced here
        copy.failed, copy.cancelled, copy.dead, copy.spoilt = self.failed, self.cancelled, self.dead, self.spoilt
        copy.parts = self.parts
        copy.totals, copy._handling, copy._shift = self.totals.copy(), self._handling.copy(), self._shift.copy()
        copy._kept = self._kept
        copy.wake()
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


def _packed(buckets: Iterable[tuple[int, int]]) -> list[int]:
    """Buckets with their numbers as one number each."""
    return [number * _PLACES + bucket for bucket, number in buckets if number]


def _unpacked(packed: Iterator[int | None]) -> dict[int, int]:
    """The buckets up to the next separator, or the end."""
    pairs = (divmod(one, _PLACES) for one in iter(lambda: next(packed, None), None))
    return {bucket: number for number, bucket in pairs}


def _add(buckets: dict[int, int], bucket: int, number: int) -> None:
    buckets[bucket] = buckets.get(bucket, 0) + number


def _with(buckets: list[int], more: Mapping[int, int]) -> list[int]:
    for bucket, number in more.items():
        buckets[bucket] += number
    return buckets


def _bucket(seconds: float) -> int:
    return int(seconds * 1e6).bit_length()
