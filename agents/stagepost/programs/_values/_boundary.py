"""Values on their way into a program and out of it."""

import math
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final

from .._errors import AmbiguousKeys, InvalidValue
from .._keyword import Keyword
from ._key import dec, enc
from ._order import ordered
from ._show import Printer
from ._types import Builtin, Function, Pattern, Var

_DEEPEST: Final = 100
_AS_THEY_ARE: Final = frozenset({type(None), bool, int, float, Keyword})


def inward(value: Any, where: str, tick: Callable[[], None], remade: Callable[[Function], Any] | None = None) -> Any:
    """A copy for the program, which nobody else can change.

    Args:
        value: Of Python, or of another program.
        where: Where it comes from, for errors.
        tick: Called for each collection.
        remade: What becomes of functions; None to leave them.

    Raises:
        InvalidValue: It is, or contains, what programs do not know; the message says where.
    """
    return _Inward(where, tick, remade).value(value, 0)


class _Inward:
    def __init__(self, where: str, tick: Callable[[], None], remade: Callable[[Function], Any] | None) -> None:
        self._where = where
        self._tick = tick
        self._remade = remade

    def value(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return value if value.isascii() else _text(value)
        if kind in _AS_THEY_ARE:
            return value
        self._tick()
        if depth > _DEEPEST:
            raise self._refused(f"nested more than {_DEEPEST} deep")
        if isinstance(value, (list, tuple)):
            return [self.value(each, depth + 1) for each in value]
        if isinstance(value, Mapping):
            return {self._key(key): self.value(of, depth + 1) for key, of in value.items()}
        if isinstance(value, (set, frozenset)):
            return frozenset(enc(self.value(dec(each), depth + 1)) for each in value)
        return self._special(value)

    def _key(self, key: Any) -> Any:
        return key if type(key) in {str, int, Keyword} else enc(self.value(dec(key), _DEEPEST - 3))

    def _special(self, value: Any) -> Any:
        if isinstance(value, Function) and self._remade is not None:
            return self._remade(value)
        if isinstance(value, (date, Function, Builtin, Pattern, Var)):
            return value
        if isinstance(value, str):
            return _text(str.__str__(value))
        if isinstance(value, (bool, int, float)):
            return float(value) if isinstance(value, float) else int(value)
        raise self._refused(f"an object of {type(value).__name__}")

    def _refused(self, what: str) -> InvalidValue:
        return InvalidValue(self._where, what)


def _text(value: str) -> str:
    """Without lone surrogates, which UTF-8 does not have."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def plain(value: Any) -> Any:
    """A value of a program as JSON knows it.

    Keywords become texts, sets sorted lists, keys texts with underscores for hyphens, dates texts in ISO 8601, infinite
    numbers None, and functions what they print as.

    Raises:
        AmbiguousKeys: Two keys of one map would be the same text, such as ``:total`` and ``"total"``.
    """
    return _plain(value, 0)


def _plain(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise InvalidValue("the value", f"nested more than {_DEEPEST} deep")
    if isinstance(value, list):
        return [_plain(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return _plain_map(value, depth)
    if type(value) is frozenset:
        return [_plain(dec(each), depth + 1) for each in ordered(value)]
    return _plain_atom(value)


def _plain_map(value: dict[Any, Any], depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    for key in ordered(value):
        spelled = dec(key)
        name = _name(spelled)
        if name in made:
            raise AmbiguousKeys(name, (Printer().text(keys[name]), Printer().text(spelled)))
        keys[name] = spelled
        made[name] = _plain(value[key], depth + 1)
    return made


def _plain_atom(value: Any) -> Any:
    if isinstance(value, Keyword):
        return value.twin
    if type(value) is float:
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, bool, int)):
        return value
    return value.isoformat() if isinstance(value, date) else Printer().text(value)


def _name(key: Any) -> str:
    if isinstance(key, str):
        return (key.twin if isinstance(key, Keyword) else key).replace("-", "_")
    return Printer().text(key)
