"""Parts of sequences: first, last, take, drop, partition."""

from collections.abc import Callable
from typing import Any, Final

from .._fault import TYPE, Fault
from .._keyword import Keyword
from .._machine import Machine
from .._values._calling import function
from .._values._key import enc
from .._values._names import wrong_types
from .._values._types import Builtin
from ._sequence import count_of, family, items_in_order, sequence, truthy
from ._transform import key_function


def first(m: Machine, coll: Any) -> Any:
    items = items_in_order(m, coll, "first")
    return items[0] if items else None


def last(m: Machine, coll: Any) -> Any:
    items = items_in_order(m, coll, "last")
    return items[-1] if items else None


def second(m: Machine, coll: Any) -> Any:
    return _at(items_in_order(m, coll, "second"), 1)


def nth(m: Machine, coll: Any, index: Any) -> Any:
    if type(index) is not int:
        raise wrong_types("nth", coll, index, hint="write (nth coll index)")
    return _at(items_in_order(m, coll, "nth"), index)


def _at(items: list[Any], index: int) -> Any:
    return items[index] if 0 <= index < len(items) else None


def rest(m: Machine, coll: Any) -> list[Any]:
    items = items_in_order(m, coll, "rest")
    m.touch(len(items))
    return m.vector(items[1:])


def butlast(m: Machine, coll: Any) -> list[Any]:
    items = items_in_order(m, coll, "butlast")
    m.touch(len(items))
    return m.vector(items[:-1])


def next_(m: Machine, coll: Any) -> Any:
    return rest(m, coll) or None


def _composed(*acts: Callable[[Machine, Any], Any]) -> Callable[[Machine, Any], Any]:
    def composed(m: Machine, coll: Any) -> Any:
        for act in acts:
            coll = act(m, coll)
        return coll

    return composed


def _sliced(name: str, cut: Callable[[int, int], slice]) -> Callable[..., list[Any]]:
    def sliced(m: Machine, count: Any, coll: Any) -> list[Any]:
        if isinstance(count, (list, dict)):
            raise wrong_types(name, count, coll, hint=f"the number comes first: ({name} n coll)")
        items = sequence(m, coll, name)
        m.touch(len(items))
        return m.vector(items[cut(count_of(count, name), len(items))])

    return sliced


_drop_last = _sliced("drop-last", lambda n, size: slice(max(size - n, 0)))


def drop_last(m: Machine, *args: Any) -> list[Any]:
    return _drop_last(m, *args) if len(args) == 2 else _drop_last(m, 1, args[0])  # noqa: PLR2004 - with a number


def _while(name: str, *, keeps: bool) -> Callable[..., list[Any]]:
    def act(m: Machine, predicate: Any, coll: Any) -> list[Any]:
        holds = function(m, predicate, 1, name)
        items = sequence(m, coll, name)
        count = 0
        while count < len(items) and truthy(holds(items[count])):
            m.tick()
            count += 1
        return m.vector(items[:count] if keeps else items[count:])

    return act


def distinct(m: Machine, coll: Any) -> list[Any]:
    items = sequence(m, coll, "distinct")
    return _distinct(m, items, items)


def distinct_by(m: Machine, key: Any, coll: Any) -> list[Any]:
    items = sequence(m, coll, "distinct-by")
    return _distinct(m, items, m.each(key_function(m, key, "distinct-by"), items))


def _distinct(m: Machine, items: list[Any], keys: list[Any]) -> list[Any]:
    seen: set[Any] = set()
    made = []
    for item, key in zip(items, keys, strict=True):
        m.tick()
        coded = enc(key)
        if coded not in seen:
            m.charge(70)
            seen.add(coded)
            made.append(item)
    m.credit(70 * len(seen))
    return m.vector(made)


def partition(m: Machine, size: Any, *args: Any) -> list[Any]:
    step, pad, coll = _steps("partition", size, args)
    items = sequence(m, coll, "partition")
    made = []
    for start in range(0, len(items), step):
        m.tick()
        part = items[start : start + size]
        if len(part) < size and pad is None:
            break
        made.append(m.vector([*part, *sequence(m, pad, "partition")][:size]))
        if start + size > len(items):
            break
    return m.vector(made)


def partition_all(m: Machine, size: Any, *args: Any) -> list[Any]:
    step, _, coll = _steps("partition-all", size, args)
    items = sequence(m, coll, "partition-all")
    made = []
    for start in range(0, len(items), step):
        m.tick()
        made.append(m.vector(items[start : start + size]))
    return m.vector(made)


def _steps(name: str, size: Any, args: tuple[Any, ...]) -> tuple[int, Any, Any]:
    *steps, coll = args
    step = steps[0] if steps else size
    pad = steps[1] if len(steps) > 1 else None
    for number in (size, step):
        if type(number) is not int or number <= 0:
            raise Fault(TYPE, f"{name}: n must be a positive integer", f"write ({name} n coll)")
    return step, pad, coll


def as_sequence(m: Machine, coll: Any) -> Any:
    return sequence(m, coll, "seq") or None


def not_empty(m: Machine, coll: Any) -> Any:
    return coll if coll is not None and not is_empty(m, coll) else None


def is_empty(_: Machine, coll: Any) -> bool:
    if coll is not None and (isinstance(coll, Keyword) or not isinstance(coll, (str, list, dict, frozenset))):
        raise wrong_types("empty?", coll, hint="a collection is expected")
    return not coll


B = Builtin
PARTS: Final = family(
    "Part",
    B("first", 1, 1, first, "the first element, or nil"),
    B("second", 1, 1, second, "the second"),
    B("last", 1, 1, last, "the last"),
    B("nth", 2, 2, nth, "the element at an index, or nil"),
    B("rest", 1, 1, rest, "all but the first"),
    B("butlast", 1, 1, butlast, "all but the last"),
    B("next", 1, 1, next_, "all but the first, nil if there are none"),
    B("ffirst", 1, 1, _composed(first, first), "the first of the first"),
    B("fnext", 1, 1, _composed(next_, first), "the second"),
    B("nfirst", 1, 1, _composed(first, next_), "the first without its first"),
    B("nnext", 1, 1, _composed(next_, next_), "all but the first two"),
    B("take", 2, 2, _sliced("take", lambda n, _: slice(n)), "the first n"),
    B("drop", 2, 2, _sliced("drop", lambda n, _: slice(n, None)), "all but the first n"),
    B("take-last", 2, 2, _sliced("take-last", lambda n, size: slice(max(size - n, 0), None)), "the last n"),
    B("drop-last", 1, 2, drop_last, "all but the last, or the last n"),
    B("take-while", 2, 2, _while("take-while", keeps=True), "those before the first for which it does not hold"),
    B("drop-while", 2, 2, _while("drop-while", keeps=False), "that and those after it"),
    B("distinct", 1, 1, distinct, "each element once"),
    B("distinct-by", 2, 2, distinct_by, "the first for each value of a field or function"),
    B("partition", 2, 4, partition, "groups of n: (partition n coll), with a step, with what fills the last"),
    B("partition-all", 2, 3, partition_all, "groups of n, the last may be shorter"),
    B("seq", 1, 1, as_sequence, "the elements, nil if there are none"),
    B("empty?", 1, 1, is_empty, "whether there are no elements"),
    B("not-empty", 1, 1, not_empty, "the collection, nil if it is empty"),
)
