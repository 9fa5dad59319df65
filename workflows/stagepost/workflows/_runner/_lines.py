"""The lines in which runs wait that a limit holds back: who is counted, and who is next.

A run is counted in all its lines, or in none while it waits. It waits in the first one that is full, by the turn that
it got when it was queued. When that one has a place, the first run leaves it, and waits in another of its lines if that
is full: it holds up nobody meanwhile. But two lines that are always full would send it to and fro. So a run that was
sent on too often is kept a place in each of its lines, one run at a time.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, Generic, TypeVar
from weakref import WeakValueDictionary

from stagepost.checkpoint import Admissions

from ._limits import RunLimit, kind_of
from ._stay import Stay

_WINDOW: Final = 60.0  # seconds
_PATIENCE: Final = 3  # how often a run is sent on to another line before places are kept for it


class Queued:
    """What of a run decides when its turn is.

    Attributes:
        stay: Where it is.
        turn: Its number in the order in which runs were queued.
        lines: Those that it waits in; None: nobody has looked yet which these are.
        line: The one that it waits in now.
        admitted: Whether it is counted in all of them.
        sent_on: How often it has left one only to wait in another one.
    """

    __slots__ = ("admitted", "line", "lines", "sent_on", "stay", "turn")

    def __init__(self, stay: Stay) -> None:
        self.stay = stay
        self.turn = self.sent_on = 0
        self.lines: tuple[Line[Any], ...] | None = None
        self.line: Line[Any] | None = None
        self.admitted = False


QueuedT = TypeVar("QueuedT", bound=Queued)


class Line(Generic[QueuedT]):
    """The runs that one limit counts together.

    Attributes:
        id: Its name.
        limit: The limit.
        taken: How many are worked on.
        kept_for: The run that a place is kept for.
    """

    __slots__ = ("__weakref__", "_added", "_times", "_waiting", "id", "kept_for", "limit", "taken")

    def __init__(self, line_id: str, limit: RunLimit) -> None:
        self.id = line_id
        self.limit = limit
        self.taken = 0
        self.kept_for: QueuedT | None = None
        self._times: deque[float] = deque()
        self._waiting: list[tuple[int, int, QueuedT]] = []
        self._added = count()  # a run may come back with the same turn

    def is_full(self, record: QueuedT, now: float) -> bool:
        """Whether it has no place for a run at this time."""
        kept = self.kept_for is not None and self.kept_for is not record and self.kept_for.stay is Stay.QUEUED
        if self.limit.at_once is not None and self.taken + kept >= self.limit.at_once:
            return True
        if self.limit.per_minute is None:
            return False
        self._tidy(now)
        return len(self._times) + kept >= self.limit.per_minute

    def opens_at(self, now: float) -> float | None:
        """When the minute is over that has no place any more; None if it has one."""
        if self.limit.per_minute is None:
            return None
        self._tidy(now)
        return self._times[-self.limit.per_minute] + _WINDOW if len(self._times) >= self.limit.per_minute else None

    def count(self, at: float) -> None:
        """Note that a run is taken up."""
        self._tidy(at)
        self._times.append(at)

    def first(self) -> QueuedT | None:
        """The run that waits in it with the lowest turn; those that wait no longer are forgotten."""
        while self._waiting:
            turn, _, record = self._waiting[0]
            if record.line is self and record.turn == turn and record.stay is Stay.QUEUED:
                return record
            heappop(self._waiting)
        return None

    def add(self, record: QueuedT) -> None:
        """Have a run wait."""
        record.line = self
        heappush(self._waiting, (record.turn, next(self._added), record))

    def _tidy(self, now: float) -> None:
        """Forget what was longer ago than a minute; what is of the future is of now: the clock was set back."""
        if self._times and self._times[-1] > now:
            self._times = deque(min(time, now) for time in self._times)
        while self._times and self._times[0] <= now - _WINDOW:
            self._times.popleft()


class Lines(Generic[QueuedT]):
    """All lines of a runner.

    Args:
        limits: What is limited.
    """

    def __init__(self, limits: Sequence[RunLimit]) -> None:
        self._limits = limits
        self._counts = any(limit.per_minute is not None for limit in limits)
        self._lines: WeakValueDictionary[str, Line[QueuedT]] = WeakValueDictionary()
        self._crowded: dict[str, Line[QueuedT]] = {}  # in which runs wait; nobody else may refer to them
        self._recent: deque[tuple[float, Line[QueuedT]]] = deque()  # that have counted in the last minute
        self._opening: list[tuple[float, str]] = []
        self._favoured: QueuedT | None = None

    def of(self, workflow: str, labels: Mapping[str, str], run_id: str) -> tuple[Line[QueuedT], ...]:
        """The lines of a run."""
        named = ((limit.line_of(workflow, labels, run_id), limit) for limit in self._limits)
        return tuple(self._line(name, limit) for name, limit in named if name is not None)

    def full(self, record: QueuedT, now: float) -> Line[QueuedT] | None:
        """The first line that has no place for a run."""
        return next((line for line in record.lines or () if line.is_full(record, now)), None)

    def crowd(self, line: Line[QueuedT], now: float) -> float | None:
        """A run waits in a line from now on; returns when to look at the line again, if that is known."""
        self._crowded[line.id] = line
        opens_at = line.opens_at(now)
        if opens_at is not None:
            heappush(self._opening, (opens_at, line.id))
        return opens_at

    def next(self, line: Line[QueuedT], now: float) -> QueuedT | None:
        """The run that leaves a line because the line has a place for it."""
        kept_for = line.kept_for
        if kept_for is not None and kept_for.line is not None and self.full(kept_for, now) is None:
            kept_for.line = None
            return kept_for
        first = line.first()
        if first is None:
            self._crowded.pop(line.id, None)
            return None
        if line.is_full(first, now):
            return None
        first.line = None
        return first

    def send_on(self, record: QueuedT) -> None:
        """A run that has left a line has to wait in another one: if that comes too often, places are kept for it."""
        record.sent_on += 1
        favoured = self._favoured
        if record.sent_on > _PATIENCE and (favoured is None or favoured.stay is not Stay.QUEUED):
            self._favour(record)

    def take(self, record: QueuedT, now: float) -> None:
        """Count a run that is taken up."""
        record.admitted, record.sent_on = True, 0
        if self._favoured is record:
            self._favour(None)
        for line in record.lines or ():
            line.taken += 1
            if line.limit.per_minute is not None:
                line.count(now)
                self._remember(line, now)

    def leave(self, record: QueuedT) -> None:
        """Count a run no longer that nobody works on any more."""
        if record.admitted:
            record.admitted = False
            for line in record.lines or ():
                line.taken -= 1

    def opened(self, now: float) -> Sequence[Line[QueuedT]]:
        """Lines in which runs wait and whose minute is over."""
        if self._opening and self._opening[0][0] > now + _WINDOW:  # the clock was set back
            self._opening = []
            return list(self._crowded.values())
        found = dict[str, Line[QueuedT]]()
        while self._opening and self._opening[0][0] <= now:
            _, name = heappop(self._opening)
            if name in self._crowded:
                found[name] = self._crowded[name]
        return list(found.values())

    def opens_next(self) -> float | None:
        """When the minute of a line is over in which runs wait, as far as is known."""
        return self._opening[0][0] if self._opening else None

    # the store

    async def load(self, store: Admissions, now: float) -> None:
        """Read what was counted in the last minute."""
        if not self._counts:
            return
        limits = {limit.kind: limit for limit in self._limits if limit.per_minute is not None}
        for name, at in await store.admissions(_time(now - _WINDOW)):
            limit = limits.get(kind_of(name))
            if limit is not None:
                line = self._line(name, limit)
                line.count(min(at.timestamp(), now))
                self._remember(line, now)

    async def note(self, record: QueuedT, store: Admissions, now: float) -> None:
        """Have the store count a run, before anything of it is done."""
        counted = [line.id for line in record.lines or () if line.limit.per_minute is not None]
        if counted and record.admitted:
            await store.admit(counted, _time(now), before=_time(now - _WINDOW))

    def _favour(self, record: QueuedT | None) -> None:
        """Keep places for one run, and none for the one before."""
        for kept_for, favoured in ((None, self._favoured), (record, record)):
            for line in (favoured.lines or ()) if favoured is not None else ():
                line.kept_for = kept_for
        self._favoured = record

    def _remember(self, line: Line[QueuedT], now: float) -> None:
        if self._recent and self._recent[-1][0] > now:  # the clock was set back
            self._recent = deque((min(time, now), line) for time, line in self._recent)
        while self._recent and self._recent[0][0] <= now - _WINDOW:
            self._recent.popleft()
        self._recent.append((now, line))

    def _line(self, name: str, limit: RunLimit) -> Line[QueuedT]:
        line = self._lines.get(name)
        if line is None:
            line = self._lines[name] = Line(name, limit)
        return line


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
