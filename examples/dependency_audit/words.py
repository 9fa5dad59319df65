"""Small pieces of English: counts, lists, sizes."""

from collections.abc import Sequence

NAMED = 3
"""How many things a list names before it counts the rest."""

UNITS = (("B", 1), ("kB", 1000), ("MB", 1000**2), ("GB", 1000**3))
ROUNDS_UP = 999.5
"""From here on a number without decimals would be 1,000 of its unit."""
ONE_DIGIT = 9.95
"""Below this a number has one digit before the point, and one after it is worth telling."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `1,200 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Return a list in words: `a`, `a and b`, `a, b, c and 12 more`."""
    parts = [*names[:NAMED], *([f"{len(names) - NAMED:,} more"] if len(names) > NAMED else [])]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def sized(size: int) -> str:
    """Return a number of bytes for people: `999 B`, `1.2 kB`, `34 MB`; the units are powers of 1,000."""
    unit, scale = next((unit for unit in UNITS if size < ROUNDS_UP * unit[1]), UNITS[-1])
    number = size / scale
    return f"{number:.1f} {unit}" if scale > 1 and number < ONE_DIGIT else f"{number:,.0f} {unit}"
