"""How wide a text is, about, where there is no font to ask; and texts cut to a width."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from unicodedata import combining, east_asian_width

_NARROW: Final = "iIjltf.,:;'|!()[]{}`/ "
_WIDE: Final = "mwMW@%—…"
_SHARES: Final[Mapping[str, float]] = MappingProxyType({**dict.fromkeys(_NARROW, 0.37), **dict.fromkeys(_WIDE, 0.98)})
_UPPER, _OTHER, _FULL = 0.75, 0.69, 1.05


def width_of(text: str, size: float = 13.0) -> float:
    """About how wide a text is in the usual sans-serif fonts, rather too wide than too narrow, where it is half bold.

    Args:
        text: It.
        size: Of the font, in pixels.
    """
    return size * sum(map(_share, text))


def fitted(text: str, room: float, size: float = 13.0) -> str:
    """The text, or as much of its beginning and end as there is room for: names differ at their ends."""
    text = plain(text)
    if width_of(text, size) <= room:
        return text
    keep = max(2, int(room / (size * _OTHER)) - 1)
    while keep > 2 and width_of(_shortened(text, keep), size) > room:  # noqa: PLR2004  # a letter at each end
        keep -= 1
    return _shortened(text, keep)


def plain(text: str) -> str:
    """The text in one line, without characters that control something."""
    return "".join(each if each.isprintable() else " " for each in text)


def _shortened(text: str, keep: int) -> str:
    tail = keep // 3
    return f"{text[: keep - tail].rstrip()}…{text[len(text) - tail :].lstrip()}"


def _share(letter: str) -> float:
    if letter.isascii():
        return _SHARES.get(letter) or (_UPPER if letter.isupper() else _OTHER)
    if combining(letter):
        return 0.0
    return _SHARES.get(letter) or (_FULL if east_asian_width(letter) in "WF" else _UPPER)
