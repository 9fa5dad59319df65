"""Aggregates: counts, sums, groups, searches for one."""

import math
from typing import Any, Final

from .._machine import Machine
from .._values._calling import function
from .._values._equality import equal
from .._values._key import enc
from .._values._lookup import actual
from .._values._names import wrong_types
from .._values._text import simple
from .._values._types import Builtin
from ._numbers import add
from ._order import natural
from ._sequence import family, sequence, truthy
from ._transform import key_function


def count(m: Machine, coll: Any) -> int:
    if isinstance(coll, (list, dict, frozenset)):
        return len(coll)
    if type(coll) is str and simple(coll):
        return len(coll)
    return len(sequence(m, coll, "count"))


def reduce(m: Machine, act: Any, *args: Any) -> Any:
    items = sequence(m, args[-1], "reduce")
    start = 0
    if len(args) == 2:  # noqa: PLR2004 - with a first value
        value = args[0]
    elif not items:
        return None
    else:
        value, start = items[0], 1
    step = function(m, act, 2, "reduce")
    for first in range(start, len(items), 250):
        piece = items[first : first + 250]
        m.spend(len(piece))
        for item in piece:
            value = step(value, item)
    return value


def total(m: Machine, coll: Any) -> Any:
    return _sum(m, sequence(m, coll, "sum"), "sum")[0]


def _sum(m: Machine, values: list[Any], name: str) -> tuple[Any, int]:
    result: Any = 0
    counted = 0
    for first in range(0, len(values), 1000):
        piece = [value for value in values[first : first + 1000] if value is not None]
        m.spend(50)
        kinds = set(map(type, piece))
        if not kinds <= {int, float}:
            raise wrong_types(name, next(value for value in piece if type(value) not in {int, float}))
        part = sum(piece) if kinds <= {int} else math.fsum(piece) if _finite(piece) else sum(map(float, piece))
        result = add(m, result, part)
        counted += len(piece)
    return result, counted


def _finite(values: list[Any]) -> bool:
    return all(abs(value) < 1e300 for value in values)  # noqa: PLR2004 - fsum overflows near the greatest float


def average(m: Machine, coll: Any) -> Any:
    return _average(m, sequence(m, coll, "avg"), "avg")


def _average(m: Machine, values: list[Any], name: str) -> Any:
    result, counted = _sum(m, values, name)
    return result / counted if counted else None


def sum_by(m: Machine, key: Any, coll: Any) -> Any:
    return _sum(m, m.each(key_function(m, key, "sum-by"), sequence(m, coll, "sum-by")), "sum-by")[0]


def avg_by(m: Machine, key: Any, coll: Any) -> Any:
    return _average(m, m.each(key_function(m, key, "avg-by"), sequence(m, coll, "avg-by")), "avg-by")


def _best(m: Machine, items: list[Any], keys: list[Any], sign: int, name: str) -> Any:
    best = found = None
    for item, key in zip(items, keys, strict=True):
        if key is not None and (found is None or natural(m, key, found, name) * sign > 0):
            best, found = item, key
    return best


def _by(name: str, sign: int) -> Any:
    def by(m: Machine, key: Any, coll: Any) -> Any:
        items = sequence(m, coll, name)
        return _best(m, items, m.each(key_function(m, key, name), items), sign, name)

    return by


def _key(name: str, sign: int) -> Any:
    def key(m: Machine, act: Any, *items: Any) -> Any:
        call = function(m, act, 1, name)
        given = list(items)
        return _best(m, given, m.each(call, given), sign, name)

    return key


def group_by(m: Machine, key: Any, coll: Any) -> dict[Any, Any]:
    items = sequence(m, coll, "group-by")
    keys = m.each(key_function(m, key, "group-by"), items)
    groups: dict[Any, list[Any]] = {}
    m.charge(8 * len(items))
    for item, value in zip(items, keys, strict=True):
        m.tick()
        groups.setdefault(enc(value), []).append(item)
    m.charge(60 * len(groups))
    return m.mapping(groups)


def frequencies(m: Machine, coll: Any) -> dict[Any, Any]:
    counts: dict[Any, int] = {}
    for item in sequence(m, coll, "frequencies"):
        m.tick()
        key = enc(item)
        counts[key] = counts.get(key, 0) + 1
    return m.mapping(counts)


def some(m: Machine, predicate: Any, coll: Any) -> Any:
    holds = function(m, predicate, 1, "some")
    for item in sequence(m, coll, "some"):
        m.tick()
        found = holds(item)
        if truthy(found):
            return found
    return None


def every(m: Machine, predicate: Any, coll: Any) -> bool:
    holds = function(m, predicate, 1, "every?")
    for item in sequence(m, coll, "every?"):
        m.tick()
        if not truthy(holds(item)):
            return False
    return True


def not_any(m: Machine, predicate: Any, coll: Any) -> bool:
    return some(m, predicate, coll) is None


def contains(m: Machine, coll: Any, member: Any) -> bool:
    if coll is None:
        return False
    if isinstance(coll, dict):
        return actual(coll, member) in coll
    if type(coll) is frozenset:
        return enc(member) in coll
    if not isinstance(coll, list):
        raise wrong_types("contains?", coll, member, hint="for texts use (includes? text part)")
    m.spend(len(coll) >> 2)
    return any(equal(item, member) for item in coll)


def is_equal(m: Machine, one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for first in range(0, len(one), 1000):
            m.spend(50)
            if not all(map(equal, one[first : first + 1000], other[first : first + 1000])):
                return False
        return True
    return equal(one, other)


B = Builtin
AGGREGATE: Final = family(
    "Aggregate",
    B("count", 1, 1, count, "the number of elements"),
    B("reduce", 2, 3, reduce, "(reduce f coll), (reduce f first coll): f of what there is and each element"),
    B("sum", 1, 1, total, "of numbers; nil is skipped"),
    B("avg", 1, 1, average, "of numbers; nil is not counted; nil of none"),
    B("sum-by", 2, 2, sum_by, "of a field of each"),
    B("avg-by", 2, 2, avg_by, "of a field of each"),
    B("min-by", 2, 2, _by("min-by", -1), "the element whose field is least"),
    B("max-by", 2, 2, _by("max-by", 1), "the element whose field is greatest"),
    B("min-key", 2, None, _key("min-key", -1), "the argument for which the function gives least"),
    B("max-key", 2, None, _key("max-key", 1), "the argument for which the function gives most"),
    B("group-by", 2, 2, group_by, "a map from each value of a field or function to its elements"),
    B("frequencies", 1, 1, frequencies, "a map from each element to how often it is there"),
    B("some", 2, 2, some, "the first truthy value that the predicate gives, or nil"),
    B("every?", 2, 2, every, "whether it holds for all"),
    B("not-any?", 2, 2, not_any, "whether it holds for none"),
    B("contains?", 2, 2, contains, "whether a map has a key, a set a member, a vector an element"),
    B("=", 2, 2, is_equal, "whether two values are equal"),
    B("not=", 2, 2, lambda m, one, other: not is_equal(m, one, other), "whether they differ"),
)
