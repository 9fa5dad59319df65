"""Texts as sequences of graphemes: what a reader takes for one character, however many code points it has."""

from collections.abc import Callable

from stagepost._graphemes import grapheme_ends

from .._errors import PackageMissing

_FIRST_MARK = "\u0300"  # no code point before it combines with another


def simple(text: str) -> bool:
    """Whether each code point is a grapheme."""
    return (text.isascii() or max(text, default="") < _FIRST_MARK) and "\r\n" not in text


def graphemes(text: str, tick: Callable[[], None]) -> list[str]:
    """The graphemes, in order."""
    if simple(text):
        return list(text)
    made, begin = list[str](), 0
    try:
        for end in grapheme_ends(text):
            tick()
            made.append(text[begin:end])
            begin = end
    except ImportError:
        raise PackageMissing("texts with combined characters", "regex") from None
    return made
