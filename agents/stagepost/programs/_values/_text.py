"""Texts as sequences of graphemes: what a reader takes for one character, however many code points it has."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from .._errors import PackageMissing

_FIRST_MARK = "\u0300"  # no code point before it combines with another


def simple(text: str) -> bool:
    """Whether each code point is a grapheme."""
    return (text.isascii() or max(text, default="") < _FIRST_MARK) and "\r\n" not in text


def graphemes(text: str, tick: Callable[[], None]) -> list[str]:
    """The graphemes, in order."""
    if simple(text):
        return list(text)
    made = []
    for grapheme in _segments()(text):
        tick()
        made.append(grapheme)
    return made


@cache
def _segments() -> Callable[[str], Iterable[str]]:
    try:
        from grapheme import graphemes  # noqa: PLC0415 - an extra
    except ImportError:
        raise PackageMissing("texts with combined characters", "graphemeu") from None
    segments: Any = graphemes
    return segments  # type: ignore[no-any-return]  # the package has no annotations
