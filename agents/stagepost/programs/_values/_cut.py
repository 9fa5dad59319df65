"""Shortens values, so that the results of earlier programs stay small."""

from itertools import islice
from typing import Any, Final

from .._keyword import Keyword
from ._order import ordered
from ._show import Printer
from ._types import Builtin, Function

_DEEPEST: Final = 4


class _Enough(Exception):
    """A value is longer than it may be."""


def cut(value: Any, most: int) -> Any:
    """The value, or the beginning of it that is printed in so many bytes; functions become texts."""
    for items in (None, 50, 20, 10, 5, 3, 1, 0):
        try:
            return _fitting(_part(value, items, most, 0), most)
        except _Enough:
            continue
    return None


def _part(value: Any, items: int | None, most: int, depth: int) -> Any:
    """A value with so many elements in each collection."""
    count = most + 1 if items is None else items
    if isinstance(value, list):
        return [] if depth > _DEEPEST else [_part(each, items, most, depth + 1) for each in islice(value, count)]
    if isinstance(value, dict):
        keys = () if depth > _DEEPEST else islice(ordered(value), count)
        return {key: _part(value[key], items, most, depth + 1) for key in keys}
    return frozenset(islice(ordered(value), count)) if isinstance(value, frozenset) else _atom(value, items, most)


def _atom(value: Any, items: int | None, most: int) -> Any:
    if isinstance(value, (Function, Builtin)):
        return Printer().text(value)
    if items is not None and isinstance(value, str) and not isinstance(value, Keyword):
        return value[: max(items, 1) * most // 50]
    return value


def _fitting(value: Any, most: int) -> Any:
    left = most

    def spend() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise _Enough

    if len(Printer(None, spend).text(value).encode()) > most:
        raise _Enough
    return value
