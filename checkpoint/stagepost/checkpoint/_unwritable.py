"""What keeps JSON of a sound value from being read back: text that is no Unicode, and too many levels."""

from collections.abc import Iterator
from typing import Final

from pydantic_core import from_json

from ._frozen import LEVELS, FrozenDict, FrozenList, JsonValue
from .errors import CannotStore

_TOO_DEEP: Final = f"it is nested deeper than {LEVELS} levels: store what is deep as text"


def check_depth(data: bytes, where: str) -> None:
    """Refuse what could not be read inside a stored state, which is one level more.

    Raises:
        CannotStore: `data` has too many levels.
    """
    if len(data) <= 2 * LEVELS or data.count(b"[") + data.count(b"{") <= LEVELS:
        return
    try:
        from_json(b"[" + data + b"]")
    except ValueError as error:
        raise CannotStore(where, _TOO_DEEP) from error


def unwritable(value: JsonValue, where: str) -> CannotStore:
    """Why there is no JSON of a frozen value at all."""
    for place, text in _texts(value, where):
        if not _is_unicode(text):
            return CannotStore(
                place, f"{text[:40]!r} is no valid Unicode (half of a surrogate pair): decode it with errors='replace'"
            )
    return CannotStore(where, _TOO_DEEP)


def _texts(value: JsonValue, where: str) -> Iterator[tuple[str, str]]:
    """Every text in a value, keys too, and where it is; without recursion, since the value may be too deep for it."""
    rest = [(where, value)]
    while rest:
        place, part = rest.pop()
        if isinstance(part, str):
            yield place, part
        elif isinstance(part, FrozenList):
            rest += [(f"{place}[{index}]", item) for index, item in enumerate(part)]
        elif isinstance(part, FrozenDict):
            yield from ((place, key) for key in part)
            rest += [(f"{place}.{key}", item) for key, item in part.items()]


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
