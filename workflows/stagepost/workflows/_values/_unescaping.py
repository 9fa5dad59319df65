"""Reads what JSON, Python, URLs and HTML write as escapes, and knows where in the text each character came from."""

import re
from collections.abc import Callable, Iterator
from html import escape, unescape
from json import dumps
from typing import Final
from urllib.parse import quote, quote_plus

ROUNDS: Final = 8  # each undoes one encoding; the limit is for texts that were made to take long

# Line ends and tabs as the letters of their escapes, from which the backslash is dropped; and spaces of forms in URLs.
_FOLD: Final = str.maketrans("\n\r\t\b\f\a\v+", "nrtbfav ")

_LAST: Final = 0x10FFFF  # character of Unicode
_HEX: Final = "[0-9a-fA-F]"


def _utf8(mark: str) -> str:
    """What matches the bytes of one character, each after a mark; or a byte that belongs to none."""
    more = f"{mark}[89abAB]{_HEX}"
    return f"{mark}(?:[cdCD]{_HEX}{more}|[eE]{_HEX}(?:{more}){{2}}|[fF][0-7](?:{more}){{3}}|{_HEX}{{2}})"


_BYTES: Final = _utf8(r"\\+x")
_PERCENT: Final = _utf8("%")
ESCAPE: Final = re.compile(
    rf"\\+u[dD][89abAB]{_HEX}{{2}}\\+u[dD][c-fC-F]{_HEX}{{2}}"
    rf"|\\+u{_HEX}{{4}}|\\+u\{{0*{_HEX}{{1,6}}\}}|\\+U{_HEX}{{8}}|{_BYTES}"
    rf"|{_PERCENT}|%u{_HEX}{{4}}"
    r"|&(?:#[0-9]{1,9}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});"
    r"|(?:\r+|(?:\\+r)+)(?:\n|\\+n)"
    r"|\\+"
)
_MARKS: Final = re.compile(r"[\\%uUx{}]")
_WAYS: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: dumps(text)[1:-1],
    lambda text: dumps(text, ensure_ascii=False)[1:-1],
    lambda text: dumps(text)[1:-1].replace("/", "\\/"),
    lambda text: repr(text)[1:-1],
    lambda text: repr(f"'\"{text}")[4:-1],
    lambda text: repr(text.encode())[2:-1],
    lambda text: repr(f"'\"{text}".encode())[5:-1],
    lambda text: text.replace("\n", "\r\n"),
    quote,
    lambda text: quote(text, safe=""),
    lambda text: re.sub("%..", lambda found: found[0].lower(), quote(text, safe="")),
    quote_plus,
    escape,
)


def fold(text: str) -> str:
    """The text in one form for line ends, tabs and spaces; each character stays where it is."""
    return text.translate(_FOLD)


def stages(text: str) -> Iterator[str]:
    """What the text says after each round of reading its escapes, folded; the first round is always there."""
    for _ in range(ROUNDS):
        read = ESCAPE.sub(_meant, text)
        yield fold(read)
        if read == text:
            return
        text = read


def written(text: str) -> set[str]:
    """A text as it is, and as it is after one to three encodings."""
    found = {text}
    for _ in range(3):
        found |= {way(each) for each in found for way in _WAYS}
    return found


class Reading:
    """A text after some rounds, with the places in the first text that its characters came from.

    Attributes:
        text: The text.
        starts: Where its characters begin in the first text.
        ends: Where they end there.
    """

    __slots__ = ("_rounds", "ends", "starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = list(range(len(text)))
        self.ends = list(range(1, len(text) + 1))
        self._rounds = 0

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of it stands in the first text."""
        return self.starts[start], self.ends[end - 1]

    def start(self, at: int, otherwise: int) -> int:
        """Where a character of it begins in the first text; something else if there is no such character."""
        return self.starts[at] if at < len(self.starts) else otherwise

    def cut(self, at: int) -> None:
        """Leave out what comes from a place on."""
        if at < len(self.text):
            self.text, self.starts, self.ends = self.text[:at], self.starts[:at], self.ends[:at]

    def go_on(self) -> bool:
        """Read the escapes; whether it is worth going on."""
        before, following = self.text, _Following(self.text, self.starts, self.ends)
        at = 0
        for match in ESCAPE.finditer(before):
            following.keep(at, match.start())
            following.read(match)
            at = match.end()
        following.keep(at, len(before))
        self.text, self.starts, self.ends = "".join(following.parts), following.starts, following.ends
        self._rounds += 1
        return before != self.text and self._rounds < ROUNDS


class _Following:
    r"""The next reading of a text, as it is put together.

    Backslashes that are dropped belong to a quote or a slash after them. To a letter they do not: of ``C:\name`` only
    the name may be a secret.

    Args:
        text: The text.
        starts: Where its characters begin in the first text.
        ends: Where they end there.
    """

    __slots__ = ("_dropped", "_ends", "_starts", "_text", "ends", "parts", "starts")

    def __init__(self, text: str, starts: list[int], ends: list[int]) -> None:
        self._text, self._starts, self._ends = text, starts, ends
        self._dropped: int | None = None
        self.parts: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []

    def keep(self, at: int, to: int) -> None:
        """Take over what is no escape."""
        if at < to:
            self._add(self._text[at:to], [self._starts[at], *self._starts[at + 1 : to]], self._ends[at:to])

    def read(self, match: re.Match[str]) -> None:
        """Take over what an escape stands for."""
        meant, start, end = _meant(match), self._starts[match.start()], self._ends[match.end() - 1]
        if meant:
            self._add(meant, [start] * len(meant), [end] * len(meant))
        elif self._dropped is None:
            self._dropped = start

    def _add(self, text: str, starts: list[int], ends: list[int]) -> None:
        if self._dropped is not None and not text[0].isalnum():
            starts[0] = self._dropped
        self._dropped = None
        self.parts.append(text)
        self.starts += starts
        self.ends += ends


def _meant(match: re.Match[str]) -> str:
    """What an escape stands for."""
    written = match[0]
    first = written[0]
    if first == "%" and len(written) == 3:  # noqa: PLR2004  # "%", and one byte
        return chr(int(written[1:], 16))
    if first == "&":
        return unescape(written)
    if written[-1] in "\\\nn":  # no hexadecimal digit
        return "" if written[-1] == "\\" else "n"
    digits = _MARKS.sub("", written)
    kind = written[1] if first == "%" else written.lstrip("\\")[0]
    return _code_points(digits) if kind in "uU" else _character(digits)


def _character(digits: str) -> str:
    """What UTF-8 or else Latin-1 means by bytes."""
    data = bytes.fromhex(digits)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _code_points(digits: str) -> str:
    """The character that a number stands for; two numbers of four digits may be its halves."""
    number = int(digits, 16)
    if number <= _LAST:
        return chr(number)
    halves = bytes.fromhex(digits) if digits[:1] in "dD" else b""
    return halves.decode("utf-16-be", errors="replace")
