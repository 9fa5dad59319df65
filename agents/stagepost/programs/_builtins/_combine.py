"""Building collections out of others, and trees."""

import itertools
import math
from collections.abc import Callable
from typing import Any, Final

from .._fault import TYPE, Fault
from .._machine import Machine
from .._values._calling import function
from .._values._key import dec, enc
from .._values._names import wrong_types
from .._values._order import ordered
from .._values._types import Builtin, Function
from ._sequence import family, sequence, truthy


def concat(m: Machine, *colls: Any) -> list[Any]:
    made: list[Any] = []
    for coll in colls:
        part = sequence(m, coll, "concat")
        m.charge(8 * len(part))
        m.touch(len(part))
        made += part
    m.credit(8 * len(made))
    return m.vector(made)


def conj(m: Machine, coll: Any, *items: Any) -> Any:
    if coll is None or isinstance(coll, list):
        m.touch(len(coll or ()))
        return m.vector([*(coll or ()), *items])
    if type(coll) is frozenset:
        m.touch(len(coll))
        return m.members(coll.union(map(enc, items)))
    if isinstance(coll, dict):
        return _poured(m, coll, list(items), "conj")
    raise wrong_types("conj", coll, hint="the collection comes first: (conj coll x)")


def into(m: Machine, target: Any, coll: Any) -> Any:
    items = sequence(m, coll, "into")
    if isinstance(target, dict):
        return _poured(m, target, items, "into")
    return conj(m, target, *items)


def _poured(m: Machine, target: dict[Any, Any], items: list[Any], name: str) -> dict[Any, Any]:
    m.touch(len(target))
    made = dict(target)
    for item in items:
        m.tick()
        m.charge(90)
        match item:
            case dict():
                made.update(item)
            case [key, value]:
                made[enc(key)] = value
            case _:
                raise wrong_types(name, target, item, hint="maps are made of [key value] pairs, or of maps")
    m.credit(90 * len(items))
    return m.mapping(made)


def flatten(m: Machine, coll: Any) -> list[Any]:
    if not isinstance(coll, list):
        if coll is None:
            return []
        raise wrong_types("flatten", coll, hint="flatten takes vectors; see vals and entries for maps")
    made: list[Any] = []
    waiting = [iter(coll)]
    while waiting:
        for item in waiting[-1]:
            m.tick()
            if isinstance(item, list):
                m.charge(64)
                waiting.append(iter(item))
                break
            m.charge(8)
            made.append(item)
        else:
            waiting.pop()
    m.credit(8 * len(made))
    return m.vector(made)


def zip_(m: Machine, one: Any, other: Any) -> list[Any]:
    pairs = list(zip(sequence(m, one, "zip"), sequence(m, other, "zip"), strict=False))
    return m.vector(m.each(lambda pair: m.vector(list(pair)), pairs))


def interleave(m: Machine, one: Any, other: Any) -> list[Any]:
    pairs = zip(sequence(m, one, "interleave"), sequence(m, other, "interleave"), strict=False)
    return m.vector(list(itertools.chain.from_iterable(pairs)))


def interpose(m: Machine, between: Any, coll: Any) -> list[Any]:
    items = sequence(m, coll, "interpose")
    m.spend(len(items) >> 3)
    return m.vector([part for item in items for part in (between, item)][1:])


def combinations(m: Machine, coll: Any, size: Any) -> list[Any]:
    items = sequence(m, coll, "combinations")
    if type(size) is not int or size < 0:
        raise wrong_types("combinations", coll, size, hint="write (combinations coll n)")
    if size > len(items):
        return []
    made = []
    for group in itertools.combinations(items, size):
        m.spend(1 + (size >> 4))
        made.append(m.vector(list(group)))
        m.charge(8)
    m.credit(8 * len(made))
    return m.vector(made)


def range_(m: Machine, *args: Any) -> list[Any]:
    if not all(type(arg) in {int, float} and math.isfinite(arg) for arg in args):
        raise wrong_types("range", *args)
    start, end, step = (0, *args, 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args  # noqa: PLR2004
    if step == 0:
        raise Fault(TYPE, "range: the step is 0, and sequences are finite")
    count = max(math.ceil((end - start) / step), 0)
    m.charge(count * 36)
    made: list[Any] = []
    for first in range(0, count, 1000):
        m.spend(100)
        made += [start + index * step for index in range(first, min(first + 1000, count))]
    m.credit(count * 36)
    return m.vector(made, fresh=28)


# trees


def walk(m: Machine, inner: Any, outer: Any, form: Any) -> Any:
    act, after = function(m, inner, 1, "walk"), function(m, outer, 1, "walk")
    return after(_inside(m, act, form))


def _inside(m: Machine, act: Callable[[Any], Any], form: Any) -> Any:
    if isinstance(form, list):
        return m.vector(m.each(act, form))
    if isinstance(form, dict):
        pairs = m.each(act, [[dec(key), form[key]] for key in ordered(form)])
        return _poured(m, {}, pairs, "walk")
    if type(form) is frozenset:
        return m.members(enc(act(dec(key))) for key in ordered(form))
    return form


def prewalk(m: Machine, act: Any, form: Any) -> Any:
    each = function(m, act, 1, "prewalk")
    return _nested(m, lambda again, value: _inside(m, again, each(value)), form)


def postwalk(m: Machine, act: Any, form: Any) -> Any:
    each = function(m, act, 1, "postwalk")
    return _nested(m, lambda again, value: each(_inside(m, again, value)), form)


def _nested(m: Machine, act: Callable[[Callable[[Any], Any], Any], Any], form: Any) -> Any:
    def again(value: Any) -> Any:
        m.tick()
        m.depth += 5
        if m.depth > m.max_depth:
            raise m.too_deep()
        made = act(again, value)
        m.depth -= 5
        return made

    return again(form)


def tree_seq(m: Machine, branch: Any, children: Any, root: Any) -> list[Any]:
    is_branch, below = function(m, branch, 1, "tree-seq"), function(m, children, 1, "tree-seq")
    made: list[Any] = []
    waiting = [root]
    while waiting:
        m.tick()
        m.charge(16)
        node = waiting.pop()
        made.append(node)
        if truthy(is_branch(node)):
            found = sequence(m, below(node), "tree-seq")
            m.charge(8 * len(found))
            waiting.extend(reversed(found))
    return m.vector(made)


# functions


def fnil(m: Machine, act: Any, default: Any) -> Any:
    def call(value: Any, *rest: Any) -> Any:
        return function(m, act, 1 + len(rest), "fnil")(default if value is None else value, *rest)

    return Function(call, 1, None, "#fn[fnil]")


def juxt(m: Machine, *acts: Any) -> Any:
    def call(*given: Any) -> list[Any]:
        return m.vector([function(m, act, len(given), "juxt")(*given) for act in acts])

    return Function(call, 0, None, "#fn[juxt]")


def apply(m: Machine, act: Any, *args: Any) -> Any:
    *first, coll = args
    if not isinstance(coll, (list, dict, frozenset)):
        raise wrong_types("apply", act, coll, hint="the last argument of apply is a collection")
    given = [*first, *sequence(m, coll, "apply")]
    m.charge(8 * len(given))
    result = function(m, act, len(given), "apply")(*given)
    m.credit(8 * len(given))
    return result


def identity(_: Machine, value: Any) -> Any:
    return value


B = Builtin
COMBINE: Final = family(
    "Combine",
    B("concat", 0, None, concat, "the elements of all"),
    B("conj", 1, None, conj, "with more elements: at the end of a vector, entries of a map, members of a set"),
    B("into", 2, 2, into, "the elements of the second put into the first"),
    B("flatten", 1, 1, flatten, "the elements of nested vectors"),
    B("zip", 2, 2, zip_, "pairs, up to the shorter"),
    B("interleave", 2, 2, interleave, "elements in turn, up to the shorter"),
    B("interpose", 2, 2, interpose, "with a value between two elements"),
    B("combinations", 2, 2, combinations, "all choices of n elements, in order"),
    B("range", 1, 3, range_, "numbers up to the end: (range end), (range start end), (range start end step)"),
)
TREES: Final = family(
    "Tree",
    B("walk", 3, 3, walk, "(walk inner outer form): inner for each element, outer for the result"),
    B("prewalk", 2, 2, prewalk, "the function for each part of a nested value, from the outside"),
    B("postwalk", 2, 2, postwalk, "from the inside"),
    B("tree-seq", 3, 3, tree_seq, "the nodes of a tree: (tree-seq branch? children root)"),
)
FUNCTIONS: Final = family(
    "Function",
    B("identity", 1, 1, identity, "the value"),
    B("fnil", 2, 2, fnil, "the function, with a default for nil as its first argument"),
    B("juxt", 1, None, juxt, "a function that gives what all of them give, as a vector"),
    B("apply", 2, None, apply, "calls a function with the elements of a collection as arguments"),
)
