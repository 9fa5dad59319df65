"""What functions of the language take for a sequence."""

from collections.abc import Callable
from typing import Any

from .._machine import Machine
from .._values._key import dec
from .._values._names import wrong_types
from .._values._order import ordered
from .._values._text import graphemes
from .._values._types import Builtin


def sequence(m: Machine, coll: Any, name: str) -> list[Any]:
    """The elements: of a text its characters, of a map its ``[key value]`` pairs, of nil none."""
    if isinstance(coll, list):
        return coll
    if coll is None:
        return []
    if type(coll) is str:
        m.touch(len(coll))
        m.charge(64 * len(coll))
        return m.vector(graphemes(coll, m.tick))
    if isinstance(coll, dict):
        m.spend(len(coll) >> 2)
        m.charge(80 * len(coll))
        return m.vector([[dec(key), coll[key]] for key in ordered(coll)])
    if type(coll) is frozenset:
        m.spend(len(coll) >> 2)
        return m.vector([dec(key) for key in ordered(coll)])
    raise wrong_types(name, coll, hint="a collection is expected")


def items_in_order(m: Machine, coll: Any, name: str) -> list[Any]:
    """The elements of what has an order: vectors, texts and nil."""
    if isinstance(coll, dict):
        hint = "use (keys m), (vals m) or (entries m), which are sorted"
        raise wrong_types(name, coll, hint=f"{name} does not support maps, which are unordered: {hint}")
    if type(coll) is frozenset:
        raise wrong_types(name, coll, hint=f"{name} does not support sets, which are unordered: use (sort (vec s))")
    return sequence(m, coll, name)


def count_of(value: Any, name: str) -> int:
    """A number of elements; negative ones count as none."""
    if type(value) is not int:
        raise wrong_types(name, value, hint="the number of elements is expected to be an integer")
    return max(value, 0)


def truthy(value: Any) -> bool:
    """All but nil and false."""
    return value is not None and value is not False


def family(name: str, *builtins: Builtin) -> tuple[Builtin, ...]:
    """The functions, as a family of the documentation."""
    return tuple(Builtin(each.name, each.low, each.high, each.act, each.about, name, each.also) for each in builtins)


def one(act: Callable[[Any], Any]) -> Callable[[Machine, Any], Any]:
    """A function of one value that needs no machine."""
    return lambda _, value: act(value)
