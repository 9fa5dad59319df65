"""The order in each rank, with few arrows that cross: by the barycentre of what each slot is linked with."""

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise

from ._slots import Slots

_SWEEPS = 8


def ordered(slots: Slots) -> list[list[int]]:
    """The slots of each rank, from the left."""
    count = 1 + max((slot.rank for slot in slots.every), default=0)
    order: list[list[int]] = [[] for _ in range(count)]
    for number, slot in enumerate(slots.every):
        if slot.beside is None:
            order[slot.rank].append(number)
    above, below = _neighbours(slots)
    best, fewest = order, _crossings(order, below)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        order = _swept(order, above) if sweep % 2 == 0 else _swept(order[::-1], below)[::-1]
        crossings = _crossings(order, below)
        if crossings < fewest:
            best, fewest = order, crossings
    return _with_those_beside(best, slots)


def _neighbours(slots: Slots) -> tuple[Mapping[int, list[int]], Mapping[int, list[int]]]:
    """What each slot is linked with in the rank above, and in the one below; of those beside a box it is the box."""
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for one, other, _ in slots.links:
        upper = slots.every[one].beside
        lower = slots.every[other].beside
        first, second = one if upper is None else upper, other if lower is None else lower
        below.setdefault(first, []).append(second)
        above.setdefault(second, []).append(first)
    return above, below


def _swept(order: Sequence[Sequence[int]], linked: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """Each rank sorted by the one before it."""
    swept: list[list[int]] = []
    for rank in order:
        before = {number: place for place, number in enumerate(swept[-1])} if swept else {}
        keys = {number: _barycentre(linked.get(number, ()), before, place) for place, number in enumerate(rank)}
        swept.append(sorted(rank, key=keys.__getitem__))
    return swept


def _barycentre(linked: Sequence[int], before: Mapping[int, int], place: int) -> float:
    places = [before[number] for number in linked if number in before]
    return sum(places) / len(places) if places else float(place)


def _crossings(order: Sequence[Sequence[int]], below: Mapping[int, Sequence[int]]) -> int:
    found = 0
    for upper, lower in pairwise(order):
        place = {number: at for at, number in enumerate(lower)}
        seen: list[int] = []
        for number in upper:
            ends = sorted(place[each] for each in below.get(number, ()) if each in place)
            found += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return found


def _with_those_beside(order: Sequence[Sequence[int]], slots: Slots) -> list[list[int]]:
    """The ranks with what stays beside boxes: first what leads to the box itself, then by where it comes from."""
    place = {number: at for rank in order for at, number in enumerate(rank)}
    come_from: dict[int, float] = {}
    for one, other, _ in slots.links:
        for number, end in ((one, other), (other, one)):
            owner = slots.every[end].beside
            come_from[number] = place[end if owner is None else owner]
    beside: dict[int, list[int]] = {}
    for number, slot in enumerate(slots.every):
        if slot.beside is not None:
            beside.setdefault(slot.beside, []).append(number)
    for numbers in beside.values():
        numbers.sort(key=lambda number: come_from.get(number, -1.0))
    return [[each for number in rank for each in (number, *beside.get(number, ()))] for rank in order]
