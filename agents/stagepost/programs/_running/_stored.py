"""The values of programs as JSON, from which they come back as they were: memory, journals, results.

None, booleans, finite numbers, texts and lists are what they are in JSON. All else is an object with one key that says
what it is; those of keywords, maps and sets are short, since there may be many. A function is its form as text, and the
values that it has captured.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from .._builtins import BUILTINS
from .._keyword import Keyword
from .._limits import Limits
from .._reader._reader import read
from .._reader._writing import written
from .._values._boundary import inward
from .._values._key import dec, enc
from .._values._order import ordered
from .._values._regex import pattern
from .._values._types import Builtin, Function, Pattern, Var

_SAFE: Final = 2**53  # integers up to this one are the same in all implementations of JSON
_ANY: Final = Limits(nesting=1_000, pattern=1_000_000, source=100_000_000, names=1_000_000)  # it was accepted before


def dump(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name as JSON values.

    Raises:
        InvalidValue: One is no value of programs.
    """
    return {name: _dumped(value) for name, value in values.items()}


def load(stored: Mapping[str, Any]) -> dict[str, Any]:
    """What `dump` has made JSON values of."""
    return {name: _loaded(value) for name, value in stored.items()}


def _dumped(value: Any) -> Any:
    if isinstance(value, Keyword):
        return {"k": value.twin}
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, list):
        return [_dumped(each) for each in value]
    if isinstance(value, dict):
        return {"m": [part for key in ordered(value) for part in (_dumped(dec(key)), _dumped(value[key]))]}
    if isinstance(value, frozenset):
        return {"s": [_dumped(dec(each)) for each in ordered(value)]}
    return _special(value)


def _special(value: Any) -> Any:
    if isinstance(value, int):
        return value if abs(value) <= _SAFE else {"int": str(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    return _named(value)


def _named(value: Any) -> Any:
    match value:
        case date():
            return {"time" if isinstance(value, datetime) else "date": value.isoformat()}
        case Var():
            return {"var": value.name}
        case Pattern():
            return {"regex": value.text}
        case Builtin():
            return {"builtin": value.name}
        case Function():
            held = [[name, _dumped(of)] for name, of in value.held]
            return {"function": written(value.form), "shown": value.shown, "held": held}
        case _:
            return _dumped(inward(value, "the value", _free))


def _loaded(stored: Any) -> Any:
    if isinstance(stored, (list, tuple)):
        return [_loaded(each) for each in stored]
    if isinstance(stored, Mapping):
        kind = next(iter(stored))
        return _function(stored) if kind == "function" else _LOADED[kind](stored[kind])
    return stored


def _map(parts: Sequence[Any]) -> dict[Any, Any]:
    return {enc(_loaded(key)): _loaded(value) for key, value in zip(parts[::2], parts[1::2], strict=True)}


def _function(stored: Mapping[str, Any]) -> Function:
    """A function, which a program makes again before it calls it."""
    (form,) = read(stored["function"], _ANY, _free)
    held = tuple((name, _loaded(value)) for name, value in stored["held"])
    return Function(_uncalled, 0, None, stored["shown"], form, held)


def _uncalled(*_: Any) -> Any:  # pragma: no cover - programs make it again first
    raise TypeError


def _free() -> None:
    """Nothing is counted: what is stored has been counted before."""


_LOADED: Final[dict[str, Callable[[Any], Any]]] = {
    "k": Keyword,
    "m": _map,
    "s": lambda members: frozenset(enc(_loaded(each)) for each in members),
    "int": int,
    "float": float,
    "time": datetime.fromisoformat,
    "date": date.fromisoformat,
    "var": Var,
    "regex": lambda text: pattern(text, _ANY),
    "builtin": BUILTINS.__getitem__,
}
