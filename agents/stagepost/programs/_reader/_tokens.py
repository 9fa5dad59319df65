"""Cuts the text of a program into tokens."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from .._fault import Fault

_SYMBOL: Final = r"[A-Za-z0-9+\-*/<>=?!_.&%]"
_TOKEN: Final = re.compile(
    r"""
      (?P<blank>   [\s,]+ | ;[^\n]* )
    | (?P<opening> \#\( | \#\{ | [(\[{] )
    | (?P<closing> [)\]}] )
    | (?P<string>  "(?:[^"\\]|\\.)*" )
    | (?P<regex>   \#"(?:[^"\\]|\\.)*" )
    | (?P<number>  [+-]?[0-9]SYM* )
    | (?P<special> \#\#(?:Inf|-Inf|NaN)(?!SYM) )
    | (?P<keyword> :[A-Za-z0-9_?!\-]+(?![/:]) )
    | (?P<var>     \#'SYM+ )
    | (?P<char>    \\(?:newline|space|tab|return|backspace|formfeed|.)(?!SYM) )
    | (?P<symbol>  SYM+ )
    """.replace("SYM", _SYMBOL),
    re.VERBOSE | re.DOTALL,
)
_UNSUPPORTED: Final = (
    ('"', "a text has no closing quote", None),
    ('#"', "a regular expression has no closing quote", None),
    ("'", "quoting ('expr) is not supported", "use vectors, such as [1 2 3], for lists"),
    ("`", "quasi-quoting (`expr) is not supported", "use vectors and functions"),
    ("~", "unquoting (~expr) is not supported", "use vectors and functions"),
    ("@", "dereferencing (@x) is not supported", "there are no atoms and refs; def and loop keep values"),
    ("^", "metadata (^x) is not supported", "leave it out"),
    ("#_", "discarding a form (#_) is not supported", "use ; for comments"),
    ("#", "tagged literals (#x) are not supported", None),
    (":", "a keyword is : and letters, digits, -, _, ? or !", None),
    ("\\", "a character is written as \\a, \\newline, \\space, \\tab, \\return, \\backspace or \\formfeed", None),
)


class Token(NamedTuple):
    """A piece of the text."""

    kind: str
    text: str
    place: int


def tokens(source: str) -> Iterator[Token]:
    """The tokens, without white space and comments."""
    place, end, match_at = 0, len(source), _TOKEN.match
    while place < end:
        match = match_at(source, place)
        if match is None:
            raise _unreadable(source, place)
        if match.lastgroup != "blank":
            yield Token(str(match.lastgroup), match.group(), place)
        place = match.end()


def _unreadable(source: str, place: int) -> Fault:
    for start, what, hint in _UNSUPPORTED:
        if source.startswith(start, place):
            return Fault("parse_error", what, hint, place)
    return Fault("parse_error", f"the character {source[place]!r} means nothing here", None, place)
