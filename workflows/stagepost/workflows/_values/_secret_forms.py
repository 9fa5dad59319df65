"""The forms in which a secret is looked for: as it is, and as it is after each round of reading; and pieces of it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ._unescaping import ESCAPE, Reading, fold, stages, written

SHORTEST: Final = 6  # characters; a shorter text is found in much that has nothing to do with it

PIECE: Final = 12  # characters of a secret that are masked by themselves: libraries quote values cut in the middle
GRAM: Final = 6  # characters; each piece holds one that begins at a multiple of the stride
STRIDE: Final = PIECE - GRAM + 1

_BREAK: Final = "[nrt ]{0,200}"  # a line end with the indentation after it, folded; or none at all
_LINE_END: Final = re.compile(r"\r+\n|\r|\n")
_WRITTEN_LINE_END: Final = re.compile(r"\r+\n|\r|\n|(?:\\+r)?\\+n")
_MARKER: Final = re.compile("-----(?:BEGIN|END) [^-]+-----")  # the first and last line of a PEM
_PEM: Final = re.compile("-----BEGIN [^-]+-----(.*?)-----END [^-]+-----", re.DOTALL)

_UNESCAPED: Final = re.compile("[A-Za-z0-9._~-]+")
_ESCAPED: Final = re.compile(f"(?:{ESCAPE.pattern})[A-Za-z0-9]?")
_CUT_START: Final = re.compile("^[0-9a-fA-F]{2}")  # after a "%" that is not part of the secret
_UNSTEADY: Final = re.compile("^(?:[0-9a-fA-F]{2}| +[0-9a-fA-F]{0,2})")  # the same after escapes were left out
_CUT_END: Final = re.compile("(?:%[0-9a-fA-F]?|&#?[A-Za-z0-9]*)$")  # what comes next may be read as part of it


class Form(NamedTuple):
    """One way in which a secret is looked for.

    Attributes:
        name: The secret's.
        pattern: What matches it.
        anchor: A part of it that stands as it is in whatever the pattern matches.
        backslashes: Whether it begins and whether it ends with some, which reading drops.
        text: All that the pattern matches, if that is one text.
    """

    name: str
    pattern: re.Pattern[str]
    anchor: str
    backslashes: tuple[bool, bool] = (False, False)
    text: str = ""

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


def levels_of(lines: Sequence[str]) -> Sequence[Sequence[str]]:
    """Lines as they are and after each round of reading, folded: at each level, what a text is compared with."""
    levels = [[fold(line), *stages(line)] for line in lines]
    return [[each[min(level, len(each) - 1)] for each in levels] for level in range(max(map(len, levels)))]


def meant_start(line: str) -> str | None:
    """The line as it is where what stands before it makes its first two digits an escape; None if it has none."""
    start = _CUT_START.match(line)
    return None if start is None else fold(chr(int(start[0], 16))) + line[2:]


def parts_of(text: str) -> Iterator[tuple[str, ...]]:
    """What is looked for: the lines of the text; the inside of PEMs; and each line that may be a key by itself."""
    lines = _lines(text)
    if len(lines) <= 1 or sum(map(len, lines)) < PIECE:
        yield (_core(text),)
        return
    yield lines
    inside = [_lines(pem[1], written=True) for pem in _PEM.finditer(text)]
    yield from (body for body in inside if len(body) > 1)
    keys = {line for body in inside for line in body if len(line) >= SHORTEST}
    keys.update(line for line in lines if len(line) >= PIECE)
    yield from ((line,) for line in keys if line.split() == [line] and _MARKER.search(line) is None)


def _lines(text: str, *, written: bool = False) -> tuple[str, ...]:
    """The lines without indentation. In a file of JSON, a PEM has line ends that are written as escapes."""
    end = _WRITTEN_LINE_END if written or "-----BEGIN" in text else _LINE_END
    return tuple(line for each in end.split(text) if (line := each.strip()))


def _core(text: str) -> str:
    """A text without the line end that files have, and other space around it; unless little else would be left."""
    core = text.strip()
    return core if len(core) >= SHORTEST else text


def raw_forms(name: str, line: str) -> Iterator[Form]:
    """The forms that a secret has in a text as it is."""
    is_read = len(next(stages(line))) >= SHORTEST
    for text in (line,) if is_read else written(line):  # of one that is little but escapes, too little would be left
        yield Form(name, re.compile(re.escape(text)), "", text=text)


def read_forms(name: str, lines: tuple[str, ...]) -> Iterator[Form]:
    """The forms that a secret has in a text that was read, once or until nothing changes."""
    backslashes = lines[0].startswith("\\"), lines[-1].endswith("\\")
    known: set[str] = set()
    for texts in levels_of(lines):
        pattern = _pattern(texts)
        if sum(map(len, texts)) >= SHORTEST and pattern not in known:
            known.add(pattern)
            yield Form(name, re.compile(pattern), anchor_of(lines), backslashes)


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


def anchor_of(lines: tuple[str, ...]) -> str:
    """The longest part of some lines that nobody escapes, and that no reading changes."""
    inside = [line for line in lines if _MARKER.search(line) is None] or lines
    steady = (_CUT_END.sub("", _UNSTEADY.sub("", _ESCAPED.sub(" ", line), count=1)) for line in inside)
    return max((part for line in steady for part in _UNESCAPED.findall(line)), key=len, default="")


def needed(anchors: set[str]) -> tuple[str, ...]:
    """Those that are enough to look for: not any that holds another."""
    return tuple(each for each in anchors if not any(other in each for other in anchors - {each}))


def pieces_of(line: str) -> Iterator[str]:
    if _MARKER.search(line) is None:
        for text in {fold(line), *stages(line)}:
            yield from (text[at : at + PIECE] for at in range(len(text) - PIECE + 1))
