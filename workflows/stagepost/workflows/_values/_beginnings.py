"""Whether the end of a text may be the beginning of a secret, or of an escape, that goes on in what comes next.

The answers are on the safe side: a part may be held back that begins nothing, but never the other way round.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from ._secret_forms import Form, levels_of, meant_start

_BREAK: Final = "nrt "  # the characters of a line end and the indentation after it, folded
_SQUEEZE: Final = str.maketrans("", "", _BREAK)
_END: Final = "\0"  # between texts
_HEX: Final = "[0-9a-fA-F]"


def _bytes(head: str, first: str, letter: str) -> str:
    """What matches the beginning of a byte after a mark, or of a character of UTF-8 of which bytes are missing.

    Args:
        head: The first mark.
        first: How the others begin.
        letter: What is left of them.
    """
    more = f"{first}{letter}[89abAB]{_HEX}"
    cut = f"(?:{first}(?:{letter}[89abAB]?)?)?"
    return f"{head}(?:[cdCD]{_HEX}{cut}|[eE]{_HEX}(?:{more})?{cut}|[fF][0-7](?:{more}){{0,2}}{cut}|{_HEX}?)"


_SLASHES: Final = r"\\+"
_HALF: Final = rf"u[dD][89abAB]{_HEX}{{2}}(?:\\+(?:u(?:[dD](?:[c-fC-F]{_HEX}?)?)?)?)?"
_AFTER_SLASHES: Final = (
    rf"r(?:\\+r)*\\*|{_HALF}|u(?:{_HEX}{{0,3}}|\{{0*{_HEX}{{0,6}})|U{_HEX}{{0,7}}|{_bytes('x', _SLASHES, 'x')}"
)
_OTHERS: Final = (
    rf"%u{_HEX}{{0,3}}|{_bytes('%', '%', '')}"
    r"|&(?:#[0-9]{0,9}|#[xX][0-9a-fA-F]{0,8}|[A-Za-z][A-Za-z0-9]{0,31})?|\r+\\*"
)
# Backslashes before another escape are a part of it: if they are dropped, what it means begins with them.
_UNFINISHED: Final = re.compile(rf"(?<!\\)(?:\\++(?:{_AFTER_SLASHES}|{_OTHERS})?|{_OTHERS})\Z")
_MARKS: Final = ("\\", "%", "&", "\r")


def unfinished(text: str) -> int:
    """Where the escape begins that the text may have ended in the middle of; its length if there is none."""
    for mark in _MARKS:
        if mark in text:
            found = _UNFINISHED.search(text)
            return len(text) if found is None else found.start()
    return len(text)


class Beginnings:
    """Knows how secrets begin, in any form.

    Args:
        parts: The lines of what is looked for.
        raw: The texts that are looked for as they are.

    Attributes:
        grows: Whether a secret ends with backslashes: of those that follow, any number belongs to it.
    """

    __slots__ = ("_blank", "_raw", "_read", "_several", "grows")

    def __init__(self, parts: Sequence[Sequence[str]], raw: Sequence[Form]) -> None:
        levels = [texts for lines in parts for texts in levels_of(lines)]
        several = [_with_meant_start(texts) for texts in levels if len(texts) > 1]
        squeezed = ["".join(texts).translate(_SQUEEZE) for variants in several for texts in variants]
        self.grows = any(lines[-1].endswith("\\") for lines in parts)
        self._raw = _joined(form.text for form in raw)
        self._read = _joined(chain.from_iterable(chain.from_iterable(map(_with_meant_start, levels))))
        self._several = _joined(squeezed)
        self._blank = any(not line.translate(_SQUEEZE) for texts in levels if len(texts) > 1 for line in texts)

    def in_raw(self, text: str) -> int:
        """Where a secret may begin that a text, as it is, ends in the middle of; its length if there is none."""
        return _suffix(text, self._raw)

    def in_read(self, folded: str) -> int:
        """The same in a text that was read and folded."""
        start = _suffix(folded, self._read)
        return min(start, self._over_lines(folded)) if self._several else start

    def _over_lines(self, folded: str) -> int:
        """Where a secret of several lines may begin, whatever stands for its line ends."""
        held, found, at = len(folded), "", len(folded)
        for at in range(len(folded) - 1, -1, -1):
            letter = folded[at]
            if letter in _BREAK:
                continue
            if letter + found not in self._several:
                at += 1  # noqa: PLW2901  # the first that may belong to it
                break
            found = letter + found
        return at if found or self._blank else held


def _suffix(text: str, known: str) -> int:
    """Where the longest end of a text begins that is part of what is known."""
    start = len(text)
    while start and text[start - 1 :] in known:
        start -= 1
    return start


def _joined(texts: Iterator[str] | Sequence[str]) -> str:
    return _END.join(dict.fromkeys(texts))


def _with_meant_start(texts: Sequence[str]) -> Sequence[Sequence[str]]:
    """Lines, and the same as they are where what stands before them changes how they begin."""
    meant = meant_start(texts[0])
    return [texts] if meant is None else [texts, [meant, *texts[1:]]]
