"""Stars in the places of a text where secrets stand."""

from collections.abc import Sequence
from typing import Final

STARS: Final = "***"


def starred(text: str, places: Sequence[tuple[int, int]]) -> str:
    """A text with stars in places, which are in order and may overlap."""
    shown: list[str] = []
    at = 0
    for start, end in places:
        if start >= at:
            shown += (text[at:start], STARS)
        at = max(at, end)
    return "".join((*shown, text[at:]))
