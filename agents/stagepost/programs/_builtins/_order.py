"""Sorting and reversing."""

import heapq
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any, Final

from .._fault import TYPE, Fault
from .._keyword import Keyword
from .._machine import Machine
from .._values._calling import function
from .._values._names import type_word, wrong_types
from .._values._types import Builtin, Function
from ._sequence import family, items_in_order, sequence
from ._transform import key_function

_CHUNK: Final = 5_000
_NUMBERS: Final = frozenset({int, float})


def sort(m: Machine, *args: Any) -> list[Any]:
    direction, coll = args if len(args) == 2 else (None, args[0])  # noqa: PLR2004 - with a comparator
    items = sequence(m, coll, "sort")
    return m.vector(_sorted(m, items, items, direction, "sort"))


def sort_by(m: Machine, key: Any, *args: Any) -> list[Any]:
    direction, coll = args if len(args) == 2 else (None, args[0])  # noqa: PLR2004 - with a comparator
    if isinstance(direction, (list, dict)) and not isinstance(coll, (list, dict)):
        raise wrong_types("sort-by", key, direction, coll, hint="write (sort-by key comparator coll)")
    items = sequence(m, coll, "sort-by")
    keys = m.each(key_function(m, key, "sort-by"), items)
    return m.vector(_sorted(m, items, keys, direction, "sort-by"))


def _sorted(m: Machine, items: list[Any], keys: list[Any], direction: Any, name: str) -> list[Any]:
    order, descending = _order(m, direction, keys, name)
    places = list(range(len(items)))
    m.charge(40 * len(items))
    runs = []
    for start in range(0, len(items), _CHUNK):
        m.spend(1000)
        runs.append(sorted(places[start : start + _CHUNK], key=lambda place: order(keys[place]), reverse=descending))
    merged = runs[0] if len(runs) == 1 else _merged(m, runs, lambda place: order(keys[place]), descending=descending)
    m.credit(40 * len(items))
    return [items[place] for place in merged] if runs else []


def _merged(m: Machine, runs: list[list[int]], key: Callable[[int], Any], *, descending: bool) -> list[int]:
    made = []
    for place in heapq.merge(*runs, key=key, reverse=descending):
        m.spend(2)
        made.append(place)
    return made


def _order(m: Machine, direction: Any, keys: list[Any], name: str) -> tuple[Callable[[Any], Any], bool]:
    if type(direction) is Keyword and direction.twin in {"asc", "desc"}:
        return _natural(m, keys, name), direction.twin == "desc"
    if getattr(direction, "name", None) in {">", "<", ">=", "<=", "compare"} and type(direction) is not Function:
        return _natural(m, keys, name), direction.name.startswith(">")
    if direction is None:
        return _natural(m, keys, name), False
    if not isinstance(direction, Function):
        raise wrong_types(name, direction, hint="a comparator is :asc, :desc, <, > or (fn [a b] …)")
    call = function(m, direction, 2, name)
    return cmp_to_key(lambda one, other: _compared(call, one, other, name)), False


def _compared(call: Callable[[Any, Any], Any], one: Any, other: Any, name: str) -> Any:
    value = call(one, other)
    if type(value) in _NUMBERS:
        return (value > 0) - (value < 0)
    if value is None or isinstance(value, bool):
        return -1 if value else int(call(other, one) is True)
    raise Fault(TYPE, f"{name}: a comparator gives a boolean or a number, got {type_word(value)}")


def _natural(m: Machine, keys: list[Any], name: str) -> Callable[[Any], Any]:
    kinds = set(map(type, keys))
    if kinds <= _NUMBERS or kinds <= {str} or kinds <= {Keyword}:
        return _itself
    m.touch(len(keys))

    def compared(one: Any, other: Any) -> Any:
        return natural(m, one, other, name)

    return cmp_to_key(compared)


def _itself(value: Any) -> Any:
    return value


def natural(m: Machine, one: Any, other: Any, name: str) -> Any:
    """-1, 0 or 1, of two numbers, texts, keywords, dates, booleans or vectors of these; nil is less than all."""
    m.tick()
    if one is None or other is None:
        return (one is not None) - (other is not None)
    if isinstance(one, list) and isinstance(other, list):
        found = (natural(m, left, right, name) for left, right in zip(one, other, strict=False))
        return next((result for result in found if result), (len(one) > len(other)) - (len(one) < len(other)))
    alike = type(one) in _NUMBERS and type(other) in _NUMBERS
    if not alike and (type(one) is not type(other) or isinstance(one, (dict, frozenset, Function))):
        raise wrong_types(name, one, other, hint="numbers are compared with numbers, and texts with texts")
    return (one > other) - (one < other)


def reverse(m: Machine, coll: Any) -> list[Any]:
    items = items_in_order(m, coll, "reverse")
    m.touch(len(items))
    return m.vector(items[::-1])


B = Builtin
ORDER: Final = family(
    "Order",
    B("sort", 1, 2, sort, "in order; `:desc`, `>` or (fn [a b] …) first for another order"),
    B("sort-by", 2, 3, sort_by, "in the order of a field, a path or a function; the comparator stands between"),
    B("reverse", 1, 1, reverse, "the other way round"),
)
