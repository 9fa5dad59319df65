"""A priority queue without starvation."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final

from ._message import Priority
from ._running import Record

_OLDEST_EVERY: Final = 16


class Lanes:
    """One lane for each priority, with the interface of a deque. All operations take constant time.

    The most urgent lane is served first, each lane in the order of arrival. Every 16th time the oldest message of all
    is taken, so that a stream of urgent ones cannot starve the rest.
    """

    __slots__ = ("_lanes", "_length", "_turn")

    def __init__(self, records: Iterable[Record]) -> None:
        """Take over the contents of a plain queue."""
        self._lanes: tuple[OrderedDict[Record, None], ...] = tuple(OrderedDict() for _ in Priority)
        self._length = 0
        self._turn = 0
        for record in records:
            self.append(record)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Record]:
        for lane in reversed(self._lanes):
            yield from lane

    def append(self, record: Record) -> None:
        """Queue a message after those of its priority."""
        self._lanes[record.terms.priority][record] = None
        self._length += 1

    def popleft(self) -> Record:
        """Take the next message."""
        self._turn += 1
        lanes = [lane for lane in self._lanes if lane]
        lane = min(lanes, key=_number_of_oldest) if self._turn % _OLDEST_EVERY == 0 else lanes[-1]
        return self._take(lane)

    def evict(self, urgency: Priority) -> Record | None:
        """Take the oldest of the least urgent messages, unless it is more urgent than this one."""
        for lane in self._lanes[: urgency + 1]:
            if lane:
                return self._take(lane)
        return None

    def remove(self, record: Record) -> None:
        """Remove a message."""
        del self._lanes[record.terms.priority][record]
        self._length -= 1

    def _take(self, lane: OrderedDict[Record, None]) -> Record:
        self._length -= 1
        return lane.popitem(last=False)[0]


def _number_of_oldest(lane: OrderedDict[Record, None]) -> int:
    return next(iter(lane)).number
