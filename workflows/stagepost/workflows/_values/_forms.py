"""All forms of some secrets, looked for in a text.

Most texts are never read, because hardly anybody escapes letters and digits. A text that has no `_DISGUISES`, and does
not have the longest part of the secret that consists of such characters, cannot hold it: these are searches in C.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from ._beginnings import Beginnings
from ._secret_forms import GRAM, PIECE, SHORTEST, STRIDE, anchor_of, needed, parts_of, pieces_of, raw_forms, read_forms
from ._unescaping import Reading, fold

# Escapes of a letter, a digit or one of "-._~", and of what an escape begins or ends with: "#%&;\\".
_PLAIN: Final = "(?:2[356dDeE]|3[0-9bB]|4[1-9a-fA-F]|5[0-9aAcCfF]|6[1-9a-fA-F]|7[0-9aAeE])"
_DISGUISES: Final = {  # by what each begins with: one character is looked for much faster than a pattern
    "\\": re.compile(rf"\\(?:u(?:00{_PLAIN}|\{{)|x{_PLAIN}|U000000{_PLAIN})"),
    "%": re.compile(f"%(?:{_PLAIN}|u00{_PLAIN})"),
    "&": re.compile("&(?!(?:lt|gt|quot|apos|nbsp|#39|#x27|#34);)#?[A-Za-z0-9]{2,32};"),
}
_LONGEST_DISGUISE: Final = 35  # characters


class Forms:
    """All forms of some secrets, and the pieces of them that are looked for by themselves.

    Args:
        secrets: Names and texts.

    Attributes:
        parts: What is looked for, as the lines that it has.
        raw: The forms in a text as it is.
        read: The forms in a text that was read.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        named = [(name, lines) for name, text in secrets if len(text) >= SHORTEST for lines in parts_of(text)]
        self.parts = tuple(lines for _, lines in named)
        self.raw = tuple(form for name, lines in named if len(lines) == 1 for form in raw_forms(name, lines[0]))
        self.read = tuple(form for name, lines in named for form in read_forms(name, lines))
        self._anchors = needed({anchor_of(lines) for lines in self.parts})
        self._pieces = frozenset(piece for lines in self.parts for line in lines for piece in pieces_of(line))
        self._grams = frozenset(piece[at : at + GRAM] for piece in self._pieces for at in range(STRIDE))

    def __bool__(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self._anchors)

    @cached_property
    def beginnings(self) -> Beginnings:
        """How all of them begin."""
        return Beginnings(self.parts, self.raw)

    @cached_property
    def context(self) -> int:
        """The number of characters before a place that `may_be_in` may have to see to know what stands there."""
        return max(_LONGEST_DISGUISE, *map(len, self._anchors))

    def may_be_in(self, text: str) -> bool:
        """Whether a text may hold a whole secret; once it may, so may the text with more after it."""
        for anchor in self._anchors:
            if anchor in text:
                return True
        return any(mark in text and escape.search(text) for mark, escape in _DISGUISES.items())

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where secrets and pieces of them stand, in any form."""
        yield from self.raw_places(text)
        reading, changes = Reading(text), True
        while changes:
            changes = reading.go_on()
            yield from self.read_places(reading, text)

    def raw_places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where they stand as they are."""
        for form in self.raw:
            yield from (match.span() for match in form.pattern.finditer(text))
        yield from self.pieces(fold(text))

    def read_places(self, reading: Reading, text: str) -> Iterator[tuple[int, int]]:
        """Where they stand after some rounds of reading.

        Args:
            reading: The reading.
            text: The text that is read.
        """
        folded = fold(reading.text)
        for form in self.read:
            yield from form.places(folded, reading, text)
        for start, end in self.pieces(folded):
            yield reading.origin(start, end)

    def pieces(self, folded: str) -> Iterator[tuple[int, int]]:
        """Where pieces stand in a text that was folded."""
        for sample in range(0, len(folded) - GRAM + 1, STRIDE):
            if folded[sample : sample + GRAM] in self._grams:
                for start in range(max(0, sample - STRIDE + 1), sample + 1):
                    if folded[start : start + PIECE] in self._pieces:
                        yield start, start + PIECE
