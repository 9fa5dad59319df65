"""How arrows run: vertical through ranks, in smooth curves between them."""

from collections.abc import Sequence
from typing import NamedTuple

from ._slots import Slot, Slots
from ._values import Point, Route

_CORNER = 8.0
_MOST_DOWN = 18.0  # below the upper edge of a high box: where an arrow from the right enters it


class Band(NamedTuple):
    """Where a rank is, from the top."""

    top: float
    bottom: float


def forward(slots: Slots, arc: int, upper: Slot, lower: Slot, bands: Sequence[Band]) -> Route:
    """From the bottom of one box to the top of another one."""
    start = bands[upper.rank].top + upper.height
    parts = [f"M{_n(upper.x)} {_n(start)}"]
    if bands[upper.rank].bottom > start:
        parts.append(f"V{_n(bands[upper.rank].bottom)}")
    x, y = upper.x, bands[upper.rank].bottom
    for slot in [*(slots.every[number] for number in slots.trails[arc]), lower]:
        band = bands[slot.rank]
        parts.append(_curve(x, y, slot.x, band.top))
        x, y = slot.x, band.top
        if slot is not lower and band.bottom > band.top:
            parts.append(f"V{_n(band.bottom)}")
            y = band.bottom
    tip = Point(x, y)
    return Route("".join(parts), tip, leads_back=False, label=_label(slots, arc, bands) or tip)


def backward(slots: Slots, arc: int, upper: Slot, lower: Slot, bands: Sequence[Band]) -> Route:
    """From the right of one box up to the right of another one, or round to itself."""
    trail = [slots.every[number] for number in slots.trails[arc]]
    leave = bands[lower.rank].top + max(lower.height * 0.7, lower.height - _MOST_DOWN)
    enter = bands[upper.rank].top + min(upper.height * 0.3, _MOST_DOWN)
    x = trail[-1].x - (trail[-1].width / 2 - 3 if upper is lower else 0)
    corner = min(_CORNER, (leave - enter) / 2) if upper is lower else _CORNER
    parts = [f"M{_n(lower.x + lower.width / 2)} {_n(leave)}H{_n(x - corner)}"]
    parts.append(f"Q{_n(x)} {_n(leave)} {_n(x)} {_n(leave - corner)}")
    for before, slot in zip(trail[:0:-1], trail[-2::-1], strict=True):
        parts.append(f"V{_n(bands[before.rank].top)}")
        parts.append(_curve(before.x, bands[before.rank].top, slot.x, bands[slot.rank].bottom))
        x = slot.x
    parts.append(f"V{_n(enter + corner)}Q{_n(x)} {_n(enter)} {_n(x - corner)} {_n(enter)}")
    tip = Point(upper.x + upper.width / 2, enter)
    parts.append(f"H{_n(tip.x)}")
    label = _label(slots, arc, bands) or tip
    if upper is lower:
        label = Point(label.x + 6, (leave + enter) / 2)
    return Route("".join(parts), tip, leads_back=True, label=label)


def _label(slots: Slots, arc: int, bands: Sequence[Band]) -> Point | None:
    number = slots.labels[arc]
    if number is None:
        return None
    slot = slots.every[number]
    return Point(slot.x, (bands[slot.rank].top + bands[slot.rank].bottom) / 2)


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    if abs(x - to_x) < 1:
        return f"L{_n(to_x)} {_n(to_y)}"
    middle = _n((y + to_y) / 2)
    return f"C{_n(x)} {middle} {_n(to_x)} {middle} {_n(to_x)} {_n(to_y)}"


def _n(value: float) -> str:
    """A number as short as it may be."""
    return f"{value:.1f}".removesuffix(".0")
