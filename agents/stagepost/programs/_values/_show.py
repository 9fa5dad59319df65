"""Prints values in the syntax of the language; what can be written in it is read back as it was."""

import math
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any, Final

from .._keyword import Keyword
from ._hidden import HIDDEN, is_firewalled
from ._key import dec
from ._order import ordered
from ._types import Builtin, Function, Pattern, Var

_DECIMALS: Final = 10
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def show(value: Any, *, items: int | None = None) -> str:
    """Print a value as a program would write it: ``{:a [1 "x" nil]}``.

    Keys of maps and members of sets are sorted, so equal values print equally.

    Args:
        value: Of a program.
        items: How many elements of a collection are shown; of a longer one, what is left out is said. None for all.
    """
    return Printer(items).text(value)


class Printer:
    """Prints values.

    Args:
        items: How many elements of a collection are shown; None for all.
        tick: Called for each value, so that a program that prints too much can be ended.
        hides: Whether models read it, who are not shown what is under keys that begin with ``_``.
    """

    def __init__(
        self, items: int | None = None, tick: Callable[[], None] | None = None, *, hides: bool = False
    ) -> None:
        self._items = items
        self._tick = tick
        self._hides = hides

    def text(self, value: Any) -> str:
        """The value as a program would write it."""
        if self._tick is not None:
            self._tick()
        if isinstance(value, list):
            return self._within("[", value, len(value), "]")
        if isinstance(value, dict):
            pairs = (f"{self.text(dec(key))} {self._under(key, value)}" for key in ordered(value))
            return self._within("{", pairs, len(value), "}", shown=True)
        if isinstance(value, frozenset):
            return self._within("#{", map(dec, ordered(value)), len(value), "}")
        return _atom(value)

    def _under(self, key: Any, of: dict[Any, Any]) -> str:
        return HIDDEN if self._hides and is_firewalled(key) else self.text(of[key])

    def said(self, value: Any) -> str:
        """The value as ``str`` and ``println`` say it: texts without quotes, nothing for nil."""
        if type(value) is str:
            return value
        if value is None:
            return ""
        if type(value) is float and not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return value.isoformat() if isinstance(value, date) else self.text(value)

    def _within(self, opening: str, parts: Iterable[Any], count: int, closing: str, *, shown: bool = False) -> str:
        texts: list[str] = []
        for part in parts:
            if len(texts) == self._items:
                return f"{opening}{' '.join(texts)} ...{closing} ({count} items, showing first {self._items})"
            texts.append(part if shown else self.text(part))
        return f"{opening}{' '.join(texts)}{closing}"


def _atom(value: Any) -> str:
    if value is None:
        return "nil"
    if type(value) is str:
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, (bool, int)):
        return str(value).lower()
    if isinstance(value, float):
        return _float(value)
    return _special(value)


def _special(value: Any) -> str:
    match value:
        case Keyword():
            return str(value)
        case Function():
            return value.shown
        case Builtin():
            return "#<builtin>"
        case Var():
            return f"#'{value.name}"
        case Pattern():
            return f'#"{value.text}"'
        case _:
            return f'"{value.isoformat()}"'


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(round(value, _DECIMALS))
    return "##NaN" if math.isnan(value) else "##Inf" if value > 0 else "##-Inf"
