"""Times as people read them: in the zone of the machine, and how long ago."""

from datetime import UTC, datetime, timedelta
from typing import Final

_MINUTE: Final = 60.0
_UNITS: Final = (("d", 86_400.0), ("h", 3_600.0), ("min", _MINUTE), ("s", 1.0))
_SPANS: Final = {"s": 1.0, "m": _MINUTE, "min": _MINUTE, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


def took(seconds: float) -> str:
    """A duration in its largest unit, or its two largest: ``42 ms``, ``3 min 5 s``, ``2 h``, ``12 d``."""
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    if seconds < 10:  # noqa: PLR2004  # two digits that count
        return f"{seconds:.1f} s"
    place = next(index for index, (_, unit) in enumerate(_UNITS) if seconds >= unit)
    name, unit = _UNITS[place]
    whole = int(seconds // unit)
    if name == "s" or whole >= 10:  # noqa: PLR2004  # of more than ten, who counts the smaller unit
        return f"{whole} {name}"
    smaller, size = _UNITS[place + 1]
    rest = int((seconds - whole * unit) // size)
    return f"{whole} {name} {rest} {smaller}" if rest else f"{whole} {name}"


def age(moment: datetime, now: datetime) -> str:
    """How long ago something was, or in how long it will be, in one unit."""
    seconds = (now - moment).total_seconds()
    if abs(seconds) < 1:
        return "now"
    name, unit = next((name, unit) for name, unit in _UNITS if abs(seconds) >= unit)
    count = f"{int(abs(seconds) // unit)} {name}"
    return f"{count} ago" if seconds > 0 else f"in {count}"


def local(moment: datetime, now: datetime) -> str:
    """A time in the local zone, as short as it can be today: ``18:54:30``, ``Nov 21 18:54``, ``2025-11-21 18:54``."""
    here, today = moment.astimezone(), now.astimezone()
    if here.date() == today.date():
        return f"{here:%H:%M:%S}"
    return f"{here:%b %d %H:%M}" if here.year == today.year else f"{here:%Y-%m-%d %H:%M}"


def full(moment: datetime, now: datetime) -> str:
    """A time in the local zone with all that belongs to it, and how long ago it was."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z} ({age(moment, now)})"


def read_time(text: str, now: datetime) -> datetime:
    """A time as it is given on the command line: ``2h`` ago, or ISO 8601, in the local zone if it names none.

    Raises:
        ValueError: It is neither.
    """
    number = text.rstrip("smindhw")
    unit = text[len(number) :]
    try:
        if unit in _SPANS and number.replace(".", "", 1).isdecimal():
            return now - timedelta(seconds=float(number) * _SPANS[unit])
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text!r} is no time: give how long ago, as 90s, 30m, 2h, 7d or 3w, or a date") from None
