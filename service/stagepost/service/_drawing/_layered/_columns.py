"""Where each slot stands in its rank: as much under what it is linked with as the order and the room allow.

Each rank is a least-squares problem with a fixed order and smallest distances, which is isotonic regression once the
distances are subtracted: it is solved exactly by pooling adjacent violators (Ayer et al., 1955). Sweeps up and down
bring the ranks together.
"""

from collections.abc import Sequence

from ._slots import Slot, Slots

_SWEEPS = 12
_GAP = 28.0
_GAP_AT_LINE = 14.0
_LOOSE = 0.01


def place_columns(slots: Slots, order: Sequence[Sequence[int]]) -> None:
    """Set `Slot.x`; the leftmost edge is at 0."""
    above: list[list[tuple[int, float]]] = [[] for _ in slots.every]
    below: list[list[tuple[int, float]]] = [[] for _ in slots.every]
    for one, other, weight in slots.links:
        below[one].append((other, weight))
        above[other].append((one, weight))
    for rank in order:
        _begin([slots.every[number] for number in rank])
    both = [[*up, *down] for up, down in zip(above, below, strict=True)]
    for sweep in range(_SWEEPS):
        linked = both if sweep >= _SWEEPS - 2 else (above, below)[sweep % 2]
        for rank in order if sweep % 2 == 0 else order[::-1]:
            _settle(slots, rank, linked)
    left = min((slot.x - slot.width / 2 for slot in slots.every), default=0.0)
    for slot in slots.every:
        slot.x = round(slot.x - left, 1)


def distance(one: Slot, other: Slot) -> float:
    """How far the middles of two neighbours are apart at least."""
    gap = _GAP if one.is_box and other.is_box else _GAP_AT_LINE
    return (one.width + other.width) / 2 + gap


def _begin(rank: Sequence[Slot]) -> None:
    """One beside the other, with the middle of all at 0."""
    at = 0.0
    for before, slot in zip([None, *rank], rank, strict=False):
        at += 0.0 if before is None else distance(before, slot)
        slot.x = at
    for slot in rank:
        slot.x -= at / 2


def _settle(slots: Slots, rank: Sequence[int], linked: Sequence[Sequence[tuple[int, float]]]) -> None:
    offset, offsets, wanted, weights = 0.0, [], [], []
    for place, number in enumerate(rank):
        slot = slots.every[number]
        if place:
            offset += distance(slots.every[rank[place - 1]], slot)
        total = sum(weight for _, weight in linked[number])
        middle = sum(slots.every[other].x * weight for other, weight in linked[number]) / total if total else slot.x
        offsets.append(offset)
        wanted.append(middle - offset)
        weights.append(total or _LOOSE)
    for number, value, after in zip(rank, isotonic(wanted, weights), offsets, strict=True):
        slots.every[number].x = value + after


def isotonic(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The values that never fall and are closest to these, by the weighted sum of squares."""
    pools: list[tuple[float, float, int]] = []  # value, weight, how many
    for value, weight in zip(values, weights, strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, total, count = pools.pop()
            both = total + pool[1]
            pool = ((mean * total + pool[0] * pool[1]) / both, both, count + pool[2])
        pools.append(pool)
    return [value for value, _, count in pools for _ in range(count)]
