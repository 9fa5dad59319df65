"""Filtering and transforming collections."""

from typing import Any, Final

from .._fault import TYPE, Fault
from .._machine import Machine
from .._values._calling import function
from .._values._lookup import get
from .._values._names import type_word
from .._values._types import Builtin
from ._sequence import family, sequence, truthy

_FRESH: Final = 32


def _predicate(m: Machine, value: Any, name: str) -> Any:
    return function(m, value, 1, name)


def filter_(m: Machine, predicate: Any, coll: Any) -> list[Any]:
    holds = _predicate(m, predicate, "filter")
    return m.vector(_kept(m, holds, sequence(m, coll, "filter")))


def _kept(m: Machine, holds: Any, items: list[Any], *, wanted: bool = True) -> list[Any]:
    made: list[Any] = []
    for start in range(0, len(items), 250):
        piece = items[start : start + 250]
        m.spend(len(piece))
        made += [item for item in piece if (((held := holds(item)) is not None) and held is not False) is wanted]
    return made


def remove(m: Machine, predicate: Any, coll: Any) -> list[Any]:
    holds = _predicate(m, predicate, "remove")
    return m.vector(_kept(m, holds, sequence(m, coll, "remove"), wanted=False))


def find(m: Machine, predicate: Any, coll: Any) -> Any:
    holds = _predicate(m, predicate, "find")
    for item in sequence(m, coll, "find"):
        m.tick()
        if truthy(holds(item)):
            return item
    return None


def map_(m: Machine, act: Any, *colls: Any) -> list[Any]:
    lists = [sequence(m, coll, "map") for coll in colls]
    each = function(m, act, len(lists), "map")
    if len(lists) == 1:
        return m.vector(m.each(each, lists[0]), fresh=_FRESH)
    pairs = list(zip(*lists, strict=False))
    return m.vector(m.each(lambda given: each(*given), pairs), fresh=_FRESH)


def mapcat(m: Machine, act: Any, coll: Any) -> list[Any]:
    each = function(m, act, 1, "mapcat")
    made: list[Any] = []
    for item in sequence(m, coll, "mapcat"):
        m.tick()
        part = sequence(m, each(item), "mapcat")
        m.charge(8 * len(part))
        m.touch(len(part))
        made += part
    m.credit(8 * len(made))
    return m.vector(made)


def map_indexed(m: Machine, act: Any, coll: Any) -> list[Any]:
    each = function(m, act, 2, "map-indexed")
    numbered = list(enumerate(sequence(m, coll, "map-indexed")))
    return m.vector(m.each(lambda pair: each(*pair), numbered), fresh=_FRESH)


def pluck(m: Machine, key: Any, coll: Any) -> list[Any]:
    return m.vector(m.each(lambda item: by(item, key), sequence(m, coll, "pluck")))


def by(item: Any, key: Any) -> Any:
    """The field of an element, by its key or by a path."""
    if not isinstance(key, list):
        return get(item, key)
    for part in key:
        item = get(item, part)
    return item


def key_function(m: Machine, key: Any, name: str) -> Any:
    """What reads the field of each element: a key, a path, or a function."""
    if type(key) is str or isinstance(key, list):
        return lambda item: by(item, key)
    if isinstance(key, dict) or key is None:
        raise Fault(
            TYPE,
            f"{name}: invalid argument types: a key or a function is expected, got {type_word(key)}",
            f"the key comes first: ({name} :field coll)",
        )
    return function(m, key, 1, name)


B = Builtin
TRANSFORM: Final = family(
    "Transform",
    B("filter", 2, 2, filter_, "the elements for which the predicate holds"),
    B("remove", 2, 2, remove, "those for which it does not"),
    B("find", 2, 2, find, "the first for which it holds, or nil"),
    B("map", 2, 4, map_, "what the function gives for each; of several collections, up to the shortest", "", ("mapv",)),
    B("mapcat", 2, 2, mapcat, "the collections that it gives, one after another"),
    B("map-indexed", 2, 2, map_indexed, "of (f index element)"),
    B("pluck", 2, 2, pluck, "the field of each"),
)
