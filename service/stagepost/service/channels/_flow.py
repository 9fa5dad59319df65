"""Text with passages that stay whole: what a formatter makes of an answer, and what is split."""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from stagepost._dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text.

    Attributes:
        text: The text.
        is_whole: Whether it is not to be cut: a link, a block of code, an emphasis.
    """

    text: str
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Flow:
    """A text and what stays whole of it.

    Attributes:
        text: The text.
        whole: Where the passages that are not cut begin and end, in order.
    """

    text: str
    whole: Sequence[tuple[int, int]] = ()

    @classmethod
    def of(cls, pieces: Iterable[Piece]) -> "Flow":
        """Put pieces together, without the empty lines around them."""
        pieces = list(pieces)
        text = "".join(piece.text for piece in pieces)
        ends = list(accumulate(len(piece.text) for piece in pieces))
        shown = text.rstrip()
        lead = len(text) - len(text.lstrip("\n"))
        whole = [
            (max(end - len(piece.text) - lead, 0), min(end, len(shown)) - lead)
            for piece, end in zip(pieces, ends, strict=True)
            if piece.is_whole
        ]
        return cls(shown[lead:], [(begin, end) for begin, end in whole if end > begin])


def joined(blocks: Iterable[Sequence[Piece]], between: str) -> list[Piece]:
    """Pieces of several blocks, with a text between the blocks."""
    made: list[Piece] = []
    for block in blocks:
        if made:
            made.append(Piece(between))
        made.extend(block)
    return made


def indented(pieces: Iterable[Piece], by: str) -> list[Piece]:
    """Pieces of which all lines but the first and the empty ones are indented."""
    begun = [Piece(piece.text.replace("\n", f"\n{by}"), piece.is_whole) for piece in pieces]
    return [Piece(piece.text.replace(f"\n{by}\n", "\n\n"), piece.is_whole) for piece in begun]


def plain(pieces: Iterable[Piece]) -> str:
    """The text of pieces."""
    return "".join(piece.text for piece in pieces)
