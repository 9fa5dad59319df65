"""How errors show values, and say where they are."""

from collections.abc import Sequence
from typing import Final

from .._keyword import Keyword

_SHOWN: Final = 40
_LONG: Final = 10**_SHOWN
_WORDS: Final[dict[type, str]] = {
    Keyword: "keyword",
    str: "string",
    dict: "map",
    list: "list",
    tuple: "list",
    set: "set",
    frozenset: "set",
}


def quoted(value: object) -> str:
    """A short value in full, a long one cut."""
    if isinstance(value, Keyword):
        return str(value)
    shown = str(value)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    return f'"{shown}"' if isinstance(value, str) else shown


def received(value: object) -> str:
    """The type of a value in one word, with the value where it is short."""
    if value is None:
        return "nil"
    if isinstance(value, (Keyword, bool, str)):
        return f"{_word(value)} {quoted(value).lower() if isinstance(value, bool) else quoted(value)}"
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < _LONG):
        return f"{_word(value)} {value}"
    return _word(value)


def _word(value: object) -> str:
    return _WORDS.get(type(value), type(value).__name__)


def path_of(loc: Sequence[str | int]) -> str:
    """``results[0].customer.id``."""
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path
