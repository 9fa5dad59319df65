"""Graphemes, what a reader takes for one character: those of UAX #29, found by the package regex, in linear time."""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import regex

__all__ = ["GRAPHEME", "grapheme_ends"]

GRAPHEME: Final = r"(?>\p{Regional_Indicator}{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+|\X)"
r"""A pattern of the package regex for one grapheme, where one begins.

``\X`` alone counts the regional indicators before each of them, to know which two are a flag: 300,000 in a row took
minutes. From left to right the next two are one.
"""


def grapheme_ends(text: str) -> Iterator[int]:
    """Where the graphemes of a text end, in order; they are found one by one.

    Raises:
        ImportError: The package regex is not installed.
    """
    for found in _pattern().finditer(text):
        yield found.end()


@cache
def _pattern() -> "regex.Pattern[str]":
    import regex  # noqa: PLC0415  # an extra

    return regex.compile(GRAPHEME)
