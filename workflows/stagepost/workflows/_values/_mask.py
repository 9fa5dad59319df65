r"""Finds texts that nobody may keep, however they are written, and puts stars in their place.

What is searched is brought into one form: escapes of JSON, Python, URLs and HTML are read, again and again until
nothing changes, since a text may have been encoded several times. Each round

- reads ``\u00fc``, ``\xfc``, ``\xc3\xbc``, ``%FC``, ``%C3%BC``, ``&uuml;`` and ``&#252;`` as
  the character that they mean,
- drops all other backslashes, and writes line ends and tabs as the letters of their escapes: so ``\n``, ``\\n`` and
  a line end are the same, whatever stands before them,
- writes ``+`` as a space, as forms in URLs do.

The secrets are read in the same way, and looked for in the text as it is and after each round.

Most texts are never read, because hardly anybody escapes letters and digits. A text that has no `_DISGUISES`, and does
not have the longest part of the secret that consists of such characters, cannot hold it: these are searches in C.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from ._unescaping import ESCAPE, Reading, fold, stages, written

SHORTEST: Final = 6  # characters; a shorter text is found in much that has nothing to do with it
STARS: Final = "***"

_PIECE: Final = 12  # characters of a secret that are masked by themselves: libraries quote values cut in the middle
_GRAM: Final = 6  # characters; each piece holds one that begins at a multiple of the stride
_STRIDE: Final = _PIECE - _GRAM + 1

_BREAK: Final = "[nrt ]{0,200}"  # a line end with the indentation after it, folded; or none at all
_LINE_END: Final = re.compile(r"\r+\n|\r|\n")
_WRITTEN_LINE_END: Final = re.compile(r"\r+\n|\r|\n|(?:\\+r)?\\+n")
_MARKER: Final = re.compile("-----(?:BEGIN|END) [^-]+-----")  # the first and last line of a PEM
_PEM: Final = re.compile("-----BEGIN [^-]+-----(.*?)-----END [^-]+-----", re.DOTALL)

# Escapes of a letter, a digit or one of "-._~", and of what an escape begins or ends with: "#%&;\\".
_PLAIN: Final = "(?:2[356dDeE]|3[0-9bB]|4[1-9a-fA-F]|5[0-9aAcCfF]|6[1-9a-fA-F]|7[0-9aAeE])"
_DISGUISES: Final = {  # by what each begins with: one character is looked for much faster than a pattern
    "\\": re.compile(rf"\\(?:u(?:00{_PLAIN}|\{{)|x{_PLAIN}|U000000{_PLAIN})"),
    "%": re.compile(f"%(?:{_PLAIN}|u00{_PLAIN})"),
    "&": re.compile("&(?!(?:lt|gt|quot|apos|nbsp|#39|#x27|#34);)#?[A-Za-z0-9]{2,32};"),
}
_UNESCAPED: Final = re.compile("[A-Za-z0-9._~-]+")
_ESCAPED: Final = re.compile(f"(?:{ESCAPE.pattern})[A-Za-z0-9]?")
_CUT_START: Final = re.compile("^[0-9a-fA-F]{2}")  # after a "%" that is not part of the secret
_CUT_END: Final = re.compile("(?:%[0-9a-fA-F]?|&#?[A-Za-z0-9]*)$")  # what comes next may be read as part of it


class _Form(NamedTuple):
    """One way in which a secret is looked for.

    Attributes:
        name: The secret's.
        pattern: What matches it.
        anchor: A part of it that stands as it is in whatever the pattern matches.
        backslashes: Whether it begins and whether it ends with some, which reading drops.
    """

    name: str
    pattern: re.Pattern[str]
    anchor: str
    backslashes: tuple[bool, bool] = (False, False)

    def is_in(self, text: str) -> bool:
        """Whether a text holds it."""
        return self.anchor in text and self.pattern.search(text) is not None

    def places(self, folded: str, reading: Reading, whole: str) -> Iterator[tuple[int, int]]:
        """Where it stands in a whole text, of which this is a reading."""
        if self.anchor not in folded:
            return
        for match in self.pattern.finditer(folded):
            start, end = reading.origin(*match.span())
            while self.backslashes[0] and whole[start - 1 : start] == "\\":
                start -= 1
            while self.backslashes[1] and whole[end : end + 1] == "\\":
                end += 1
            yield start, end


class Mask:
    """Knows texts that nobody may keep where it sees them, and puts three stars in their place.

    They are found as they are, and as JSON, Python, URLs and HTML write them, also several times over; with other line
    ends and indentation, or none. Of a text of several lines, lines that look like a key are found by themselves.
    Texts of less than 6 characters are not looked for: they would be found everywhere. What was encoded otherwise
    (base64, a hash), split or changed is not found.

    Args:
        secrets: The texts; or names and texts.
    """

    __slots__ = ("_anchors", "_grams", "_pieces", "_raw", "_read")

    def __init__(self, secrets: Iterable[str | tuple[str, str]] = ()) -> None:
        named = [("", each) if isinstance(each, str) else each for each in secrets]
        parts = [(name, lines) for name, text in named if len(text) >= SHORTEST for lines in _parts(text)]
        self._raw = tuple(form for name, lines in parts if len(lines) == 1 for form in _raw(name, lines[0]))
        self._read = tuple(form for name, lines in parts for form in _read(name, lines))
        self._anchors = _needed({_anchor(lines) for _, lines in parts})
        self._pieces = frozenset(piece for _, lines in parts for line in lines for piece in _pieces(line))
        self._grams = frozenset(piece[at : at + _GRAM] for piece in self._pieces for at in range(_STRIDE))

    def __bool__(self) -> bool:
        """Whether it looks for anything."""
        return bool(self._anchors)

    def find(self, text: str) -> str | None:
        """The name of a secret that a text holds, if it holds one."""
        if not self._may_be_in(text):
            return None
        found = (form.name for form in self._raw if form.is_in(text))
        later = (form.name for stage in stages(text) for form in self._read if form.is_in(stage))
        return next(chain(found, later), None)

    def __call__(self, text: str) -> str:
        """The text with three stars for each secret in it, and for each piece of one of 12 characters or more."""
        if not self._anchors or (not self._may_be_in(text) and next(self._places_of_pieces(fold(text)), None) is None):
            return text
        return _starred(text, sorted(self._places(text)))

    def _may_be_in(self, text: str) -> bool:
        for anchor in self._anchors:
            if anchor in text:
                return True
        if not self._anchors:  # there are no secrets
            return False
        return any(mark in text and escape.search(text) for mark, escape in _DISGUISES.items())

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        for form in self._raw:
            yield from (match.span() for match in form.pattern.finditer(text))
        yield from self._places_of_pieces(fold(text))
        reading, changes = Reading(text), True
        while changes:
            changes = reading.go_on()
            folded = fold(reading.text)
            for form in self._read:
                yield from form.places(folded, reading, text)
            for start, end in self._places_of_pieces(folded):
                yield reading.origin(start, end)

    def _places_of_pieces(self, text: str) -> Iterator[tuple[int, int]]:
        for sample in range(0, len(text) - _GRAM + 1, _STRIDE):
            if text[sample : sample + _GRAM] in self._grams:
                for start in range(max(0, sample - _STRIDE + 1), sample + 1):
                    if text[start : start + _PIECE] in self._pieces:
                        yield start, start + _PIECE


def _starred(text: str, places: Sequence[tuple[int, int]]) -> str:
    """A text with stars in places, which are in order and may overlap."""
    shown: list[str] = []
    at = 0
    for start, end in places:
        if start >= at:
            shown += (text[at:start], STARS)
        at = max(at, end)
    return "".join((*shown, text[at:]))


def _parts(text: str) -> Iterator[tuple[str, ...]]:
    """What is looked for: the lines of the text; the inside of PEMs; and each line that may be a key by itself."""
    lines = _lines(text)
    if len(lines) <= 1 or sum(map(len, lines)) < _PIECE:
        yield (_core(text),)
        return
    yield lines
    inside = [_lines(pem[1], written=True) for pem in _PEM.finditer(text)]
    yield from (body for body in inside if len(body) > 1)
    keys = {line for body in inside for line in body if len(line) >= SHORTEST}
    keys.update(line for line in lines if len(line) >= _PIECE)
    yield from ((line,) for line in keys if line.split() == [line] and _MARKER.search(line) is None)


def _lines(text: str, *, written: bool = False) -> tuple[str, ...]:
    """The lines without indentation. In a file of JSON, a PEM has line ends that are written as escapes."""
    end = _WRITTEN_LINE_END if written or "-----BEGIN" in text else _LINE_END
    return tuple(line for each in end.split(text) if (line := each.strip()))


def _core(text: str) -> str:
    """A text without the line end that files have, and other space around it; unless little else would be left."""
    core = text.strip()
    return core if len(core) >= SHORTEST else text


def _raw(name: str, line: str) -> Iterator[_Form]:
    """The forms that a secret has in a text as it is."""
    is_read = len(next(stages(line))) >= SHORTEST
    for text in (line,) if is_read else written(line):  # of one that is little but escapes, too little would be left
        yield _Form(name, re.compile(re.escape(text)), "")


def _read(name: str, lines: tuple[str, ...]) -> Iterator[_Form]:
    """The forms that a secret has in a text that was read, once or until nothing changes."""
    levels = [[fold(line), *stages(line)] for line in lines]
    backslashes = lines[0].startswith("\\"), lines[-1].endswith("\\")
    known: set[str] = set()
    for level in range(max(map(len, levels))):
        texts = [each[min(level, len(each) - 1)] for each in levels]
        pattern = _pattern(texts)
        if sum(map(len, texts)) >= SHORTEST and pattern not in known:
            known.add(pattern)
            yield _Form(name, re.compile(pattern), _anchor(lines), backslashes)


def _pattern(texts: Sequence[str]) -> str:
    """A pattern of lines. It also matches where what stands around makes its first or last characters an escape."""
    *before, last = texts
    cut = _CUT_END.search(last)
    end = len(last) if cut is None or sum(map(len, before)) + cut.start() < SHORTEST else cut.start()
    tail = f"(?:{re.escape(last[end:])})?" if end < len(last) else ""
    first, *others = [*before, last[:end]]
    start = _CUT_START.match(first)
    if start is None:
        return _BREAK.join(map(re.escape, (first, *others))) + tail
    head = f"(?:{start[0]}|{re.escape(fold(chr(int(start[0], 16))))})"
    return head + _BREAK.join(map(re.escape, (first[2:], *others))) + tail


def _anchor(lines: tuple[str, ...]) -> str:
    """The longest part of some lines that nobody escapes, and that no reading changes."""
    inside = [line for line in lines if _MARKER.search(line) is None] or lines
    steady = (_CUT_END.sub("", _CUT_START.sub("", _ESCAPED.sub(" ", line), count=1)) for line in inside)
    return max((part for line in steady for part in _UNESCAPED.findall(line)), key=len, default="")


def _needed(anchors: set[str]) -> tuple[str, ...]:
    """Those that are enough to look for: not any that holds another."""
    return tuple(each for each in anchors if not any(other in each for other in anchors - {each}))


def _pieces(line: str) -> Iterator[str]:
    if _MARKER.search(line) is None:
        for text in {fold(line), *stages(line)}:
            yield from (text[at : at + _PIECE] for at in range(len(text) - _PIECE + 1))
