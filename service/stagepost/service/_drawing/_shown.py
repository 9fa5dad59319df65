"""JSON values as texts of a bearable length."""

import json
from typing import NamedTuple

ROOM = 300


class Shown(NamedTuple):
    """A value as text.

    Attributes:
        text: Its JSON, or the beginning of that.
        size: How many bytes it has as a whole.
        is_cut: Whether it is more than the text.
    """

    text: str
    size: int
    is_cut: bool


def shown(value: object, room: int = ROOM) -> Shown:
    """A value as text.

    Args:
        value: It, as JSON values.
        room: How many letters of it are shown at most.
    """
    whole = json.dumps(value, ensure_ascii=False)
    return Shown(whole[:room], len(whole.encode(errors="surrogatepass")), len(whole) > room)


def size(count: int) -> str:
    """A number of bytes, in the unit in which it is read most easily."""
    amount = float(count)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1000:  # noqa: PLR2004  # the next unit
            return f"{amount:.0f} {unit}" if unit == "bytes" or amount >= 10 else f"{amount:.1f} {unit}"  # noqa: PLR2004
        amount /= 1000
    return f"{amount:.1f} GB"
