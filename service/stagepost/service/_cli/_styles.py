"""Colours with a meaning: they say how something stands, and are left out where nobody sees them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rich.text import Text

from ._texts import one_line

DIM: Final = "dim"
BAD: Final = "red"
GOOD: Final = "green"
WAITS: Final = "yellow"
WORKS: Final = "cyan"

STATUSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "running": WORKS,
        "waiting": WAITS,
        "completed": GOOD,
        "failed": BAD,
        "cancelled": DIM,
        "dead": BAD,
    }
)


def status_text(status: str, *, cancelling: bool = False, blocked: bool = False) -> Text:
    """A status in its colour; what else stops the run is told with it."""
    text = Text(status, STATUSES.get(status, ""))
    if cancelling:
        text.append(" (cancelling)", DIM)
    elif blocked:
        text.append(" (blocked)", BAD)
    return text


def plain(value: str | None, style: str = "") -> Text:
    """A cell: a stored text in one line."""
    return Text("" if value is None else one_line(value), style)
