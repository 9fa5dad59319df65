"""A queue that lets urgent messages pass without starving the others."""

from collections import deque
from collections.abc import Iterator
from typing import Final

from ._message import Priority
from ._parcel import Parcel

_OLDEST_EVERY: Final = 16


class Lanes:
    """One lane for each priority, in the shape of a deque.

    The most urgent lane is served first, each in the order of arrival. Every 16th turn takes the oldest message of all,
    so that a stream of urgent ones cannot starve the rest.
    """

    __slots__ = ("_lanes", "_length", "_turn")

    def __init__(self, parcels: deque[Parcel]) -> None:
        """Take over what a plain queue holds."""
        self._lanes: tuple[deque[Parcel], ...] = tuple(deque() for _ in Priority)
        self._length = 0
        self._turn = 0
        for parcel in parcels:
            self.append(parcel)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Parcel]:
        for lane in reversed(self._lanes):
            yield from lane

    def append(self, parcel: Parcel) -> None:
        """Queue a message behind those of its priority."""
        self._lanes[parcel.terms.priority].append(parcel)
        self._length += 1

    def popleft(self) -> Parcel:
        """Take the message whose turn it is."""
        self._turn += 1
        lanes = [lane for lane in self._lanes if lane]
        lane = min(lanes, key=lambda lane: lane[0].number) if self._turn % _OLDEST_EVERY == 0 else lanes[-1]
        self._length -= 1
        return lane.popleft()

    def remove(self, parcel: Parcel) -> None:
        """Take a message out."""
        self._lanes[parcel.terms.priority].remove(parcel)
        self._length -= 1
