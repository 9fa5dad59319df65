"""Looking things up in maps and vectors; keywords also find the keys that are texts of their names, and back."""

from collections.abc import Callable
from typing import Any, Final

from .._keyword import Keyword
from ._key import enc

_NONE: Final = object()


def lookup(of: Any, key: Any, default: Any = None) -> Any:
    """What a map has under a key, or else under its twin; of what is no map, the default."""
    if not isinstance(of, dict):
        return default
    if type(key) is Keyword:
        found = of.get(key, _NONE)
        if found is _NONE:
            found = of.get(key.twin, _NONE)
    else:
        found = of.get(enc(key), _NONE)
        if found is _NONE and type(key) is str:
            found = of.get(Keyword(key), _NONE)
    return default if found is _NONE else found


def get(of: Any, key: Any, default: Any = None) -> Any:
    """As ``lookup``; vectors have integers as keys, sets their members."""
    if isinstance(of, list):
        return of[key] if type(key) is int and 0 <= key < len(of) else default
    if type(of) is frozenset:
        return key if enc(key) in of else default
    return lookup(of, key, default)


def actual(of: dict[Any, Any], key: Any) -> Any:
    """The key under which the map has it, exactly or as a twin; the key itself if it has neither."""
    coded = enc(key)
    if coded in of:
        return coded
    if type(key) is Keyword and key.twin in of:
        return key.twin
    if type(key) is str and Keyword(key) in of:
        return Keyword(key)
    return coded


def reader(key: Any) -> Callable[[Any], Any]:
    """A function that reads a field, as fast as it can be had."""
    if type(key) is not Keyword:
        return lambda of: lookup(of, key)
    twin = key.twin

    def read(of: Any) -> Any:
        if not isinstance(of, dict):
            return None
        found = of.get(key, _NONE)
        return of.get(twin) if found is _NONE else found

    return read
