"""A scale of time on which hours in which nothing works take little room."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from stagepost._dataclasses import dataclass

from ._durations import duration
from ._timeline import Span, united

_LONG: Final = 0.2  # share of all work from which on a pause is cut,
_SHORT: Final = 1.0  # unless it is shorter than so many seconds
_CUT: Final = 0.07  # share of what is not cut that a cut pause takes instead
_TICKS: Final = 6
_APART: Final = 12.0  # percent between two texts


class Stretch(NamedTuple):
    """A part of the scale.

    Attributes:
        begin: In Unix seconds.
        end: The same.
        at: Where it begins, in percent of the whole.
        width: How wide it is, in the same.
        is_cut: Whether it is a pause that takes less room than it should.
    """

    begin: float
    end: float
    at: float
    width: float
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Scale:
    """From time to percent.

    Attributes:
        stretches: Its parts, in order.
    """

    stretches: Sequence[Stretch]

    def at(self, time: float) -> float:
        """Where a time is, in percent."""
        number = max(0, bisect_right(self.stretches, time, key=lambda each: each.begin) - 1)
        found = self.stretches[number]
        length = found.end - found.begin
        share = (time - found.begin) / length if length else 0.0
        return found.at + found.width * min(max(share, 0.0), 1.0)

    def ticks(self) -> Sequence[tuple[float, str]]:
        """Where to say how late it is, in percent: since the beginning.

        Where that would read the same for several times after a cut pause, it is since the end of the pause.
        """
        first = self.stretches[0].begin
        found: list[tuple[float, str]] = []
        for each in self.stretches:
            times = [] if each.is_cut else list(_round_times(each))
            whole = [duration(time - first) for time in times]
            is_told = len({*whole}) == len(whole)
            for time, since in zip(times, whole, strict=True):
                place = self.at(time)
                if not found or place - found[-1][0] >= _APART:
                    is_absolute = is_told or time == each.begin
                    found.append((place, since if is_absolute else f"+{duration(time - each.begin)}"))
        cuts = [each.at + each.width / 2 for each in self.stretches if each.is_cut]
        return [(place, text) for place, text in found if all(abs(place - cut) >= _APART for cut in cuts)]


def scale_of(work: Iterable[Span], begin: float, end: float) -> Scale:
    """The scale for a run.

    Args:
        work: When anything worked.
        begin: Where it begins, in Unix seconds.
        end: Where it ends.
    """
    end = max(end, begin + 0.001)
    busy = [span for span in united(work) if span.end >= begin and span.begin <= end]
    edges = [begin, *(edge for span in busy for edge in (span.begin, span.end)), end]
    total = sum(span.seconds for span in busy)
    limit = max(_LONG * total, _SHORT) if total else float("inf")
    parts: list[tuple[float, float, bool]] = []
    for number, (one, other) in enumerate(pairwise(edges)):
        is_cut = number % 2 == 0 and other - one > limit
        if parts and not is_cut and not parts[-1][2]:
            parts[-1] = (parts[-1][0], max(other, parts[-1][1]), False)
        elif other > one or is_cut:
            parts.append((one, other, is_cut))
    return Scale(_stretched(parts))


def _stretched(parts: Sequence[tuple[float, float, bool]]) -> Sequence[Stretch]:
    cut = _CUT * sum(end - begin for begin, end, is_cut in parts if not is_cut)
    lengths = [cut if is_cut else end - begin for begin, end, is_cut in parts]
    whole, at = sum(lengths), 0.0
    found = []
    for (begin, end, is_cut), length in zip(parts, lengths, strict=True):
        width = 100 * length / whole
        found.append(Stretch(begin, end, at, width, is_cut))
        at += width
    return found


def _round_times(stretch: Stretch) -> Iterable[float]:
    """Its begin, and times after that by round numbers."""
    step = _round((stretch.end - stretch.begin) / max(1.0, _TICKS * stretch.width / 100))
    count = int((stretch.end - stretch.begin) / step)
    return [stretch.begin + number * step for number in range(count + 1)]


_STEPS: Final = (1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0)


def _round(step: float) -> float:
    """The next round number of seconds."""
    if step >= 1:
        longer = (each * 3600 for each in (2.0, 4.0, 6.0, 12.0, 24.0))
        return next((each for each in (*_STEPS, *longer) if each >= step), -(-step // 86_400) * 86_400)
    size = 0.001
    while size * 10 < step:
        size *= 10
    return next(each * size for each in (1.0, 2.0, 5.0, 10.0) if each * size >= step or each == 10.0)  # noqa: PLR2004
