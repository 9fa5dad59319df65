"""Marks around bold and italic text where markup is a single sign: it has to close in the same line and message."""

import re
from collections.abc import Sequence
from typing import Final

from ._flow import Piece, plain

_LONG: Final = 200  # characters that stay whole in a message without harm
_ENDS: Final = re.compile(r"(?<=[.!?…])(\s+)|(\n+)")


def stands_alone(before: str, after: str) -> bool:
    """Whether marks between two texts are read as marks: beside a letter or a digit they would be shown."""
    return not (before[-1:].isalnum() or after[:1].isalnum())


def emphasized(pieces: Sequence[Piece], mark: str) -> list[Piece]:
    """Pieces in marks, each line and each sentence of a long one by itself; what is longer has no marks.

    Args:
        pieces: The text.
        mark: Before and after it; empty for none.
    """
    if not mark:
        return list(pieces)
    text = plain(pieces)
    if len(text) <= _LONG and "\n" not in text:
        return [Piece(_marked(text, mark), is_whole=True)] if text.strip() else list(pieces)
    if any(piece.is_whole for piece in pieces):
        return list(pieces)
    return [_short(each, mark) for each in _ENDS.split(text) if each]


def _short(text: str, mark: str) -> Piece:
    if not text.strip() or len(text) > _LONG:
        return Piece(text)
    return Piece(_marked(text, mark), is_whole=True)


def _marked(text: str, mark: str) -> str:
    inside = text.strip()
    lead = text[: len(text) - len(text.lstrip())]
    tail = text[len(text.rstrip()) :]
    return f"{lead}{mark}{inside}{mark}{tail}"
