"""Maps, and vectors with integers as keys."""

from typing import Any, Final

from .._fault import TYPE, Fault
from .._machine import Machine
from .._values._calling import arity, function
from .._values._key import dec, enc
from .._values._lookup import actual, get
from .._values._names import wrong_types
from .._values._order import ordered
from .._values._types import Builtin, Function, accepts
from ._sequence import family, sequence


def get_(_: Machine, of: Any, key: Any, default: Any = None) -> Any:
    return get(of, key, default)


_ABSENT: Final = object()


def get_in(_: Machine, of: Any, path: Any, default: Any = None) -> Any:
    for key in _keys("get-in", of, path):
        of = get(of, key, _ABSENT)
        if of is _ABSENT:
            return default
    return of


def _keys(name: str, of: Any, path: Any) -> list[Any]:
    if not isinstance(path, list):
        raise wrong_types(name, of, path, hint=f"the path is a vector: ({name} m [:a :b] …)")
    return path


def assoc(m: Machine, of: Any, *pairs: Any) -> Any:
    if len(pairs) % 2:
        raise Fault("arity_error", "arity error: assoc expects a value for each key", "write (assoc m key value)")
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        of = put(m, of, key, value, "assoc")
    return of


def put(m: Machine, of: Any, key: Any, value: Any, name: str) -> Any:
    """The map or vector with a value under a key."""
    if of is None:
        return m.mapping({enc(key): value})
    m.touch(len(of) if isinstance(of, (list, dict)) else 0)
    if isinstance(of, dict):
        made = dict(of)
        made[actual(of, key)] = value
        return m.mapping(made)
    if not isinstance(of, list) or type(key) is not int:
        raise wrong_types(name, of, key, hint=f"({name} map key …), or an integer for a vector")
    if not 0 <= key <= len(of):
        raise Fault("index_error", f"{name}: index {key} out of bounds for a vector of {len(of)} elements")
    return m.vector([*of[:key], value, *of[key + 1 :]])


def assoc_in(m: Machine, of: Any, path: Any, value: Any) -> Any:
    return _changed(m, of, _keys("assoc-in", of, path), lambda _: value, "assoc-in")


def _changed(m: Machine, of: Any, path: list[Any], act: Any, name: str) -> Any:
    if not path:
        raise Fault(TYPE, f"{name}: the path is empty", f"write ({name} m [:a :b] …)")
    m.tick()
    above = []
    for key in path[:-1]:
        above.append(of)
        of = get(of, key)
    made = put(m, of, path[-1], act(get(of, path[-1])), name)
    for parent, key in zip(reversed(above), reversed(path[:-1]), strict=True):
        made = put(m, parent, key, made, name)
    return made


def update(m: Machine, of: Any, key: Any, act: Any, *more: Any) -> Any:
    return put(m, of, key, _updater(m, act, 1 + len(more), "update")(get(of, key), *more), "update")


def update_in(m: Machine, of: Any, path: Any, act: Any, *more: Any) -> Any:
    call = _updater(m, act, 1 + len(more), "update-in")
    return _changed(m, of, _keys("update-in", of, path), lambda value: call(value, *more), "update-in")


def _updater(m: Machine, act: Any, count: int, name: str) -> Any:
    if isinstance(act, (Function, Builtin)) and not accepts(act, count):
        raise Fault(
            "arity_error",
            f"{name}: the function takes {arity(act)} argument(s), and is given {count}: the value and what follows it",
            "for a default write (or value default) inside the function, or wrap it with fnil",
        )
    return function(m, act, count, name)


def dissoc(m: Machine, of: Any, *keys: Any) -> Any:
    if of is None:
        return None
    _map("dissoc", of)
    m.touch(len(of))
    made = dict(of)
    for key in keys:
        made.pop(actual(of, key), None)
    return m.mapping(made)


def merge(m: Machine, *maps: Any) -> Any:
    made: dict[Any, Any] = {}
    for each in maps:
        if each is not None:
            _map("merge", each)
            m.touch(len(each))
            m.charge(90 * len(each))
            made.update(each)
    m.credit(90 * sum(len(each) for each in maps if each))
    return m.mapping(made)


def _map(name: str, of: Any) -> None:
    if not isinstance(of, dict):
        raise wrong_types(name, of, hint=f"{name} takes a map")


def select_keys(m: Machine, of: Any, keys: Any) -> Any:
    if of is None:
        return {}
    _map("select-keys", of)
    found = [actual(of, key) for key in sequence(m, keys, "select-keys")]
    return m.mapping({key: of[key] for key in found if key in of})


def _sorted(m: Machine, of: Any, name: str) -> list[Any]:
    if of is None:
        return []
    _map(name, of)
    m.spend(len(of) >> 2)
    return ordered(of)


def keys(m: Machine, of: Any) -> list[Any]:
    return m.vector([dec(key) for key in _sorted(m, of, "keys")])


def vals(m: Machine, of: Any) -> list[Any]:
    return m.vector([of[key] for key in _sorted(m, of, "vals")])


def entries(m: Machine, of: Any) -> list[Any]:
    return m.vector([m.vector([dec(key), of[key]]) for key in _sorted(m, of, "entries")])


def _part(name: str, index: int) -> Any:
    def part(_: Machine, entry: Any) -> Any:
        if not isinstance(entry, list) or len(entry) != 2:  # noqa: PLR2004 - a key and a value
            raise wrong_types(name, entry, hint=f"{name} takes an entry [key value]")
        return entry[index]

    return part


def update_vals(m: Machine, of: Any, act: Any) -> Any:
    if of is None:
        return {}
    if not isinstance(of, dict):
        raise wrong_types("update-vals", of, act, hint="the map comes first: (update-vals m f)")
    call = function(m, act, 1, "update-vals")
    listed = ordered(of)
    return m.mapping(dict(zip(listed, m.each(call, [of[key] for key in listed]), strict=True)))


B = Builtin
MAPS: Final = family(
    "Map",
    B("get", 2, 3, get_, "the value under a key, or nil, or a default"),
    B("get-in", 2, 3, get_in, "the value at a path"),
    B("assoc", 3, None, assoc, "with values under keys: (assoc m key value)"),
    B("assoc-in", 3, 3, assoc_in, "with a value at a path"),
    B("update", 3, None, update, "(update m key f x…): the value becomes (f value x…)"),
    B("update-in", 3, None, update_in, "the same at a path"),
    B("dissoc", 1, None, dissoc, "without keys"),
    B("merge", 0, None, merge, "all entries; later maps win"),
    B("select-keys", 2, 2, select_keys, "only these keys"),
    B("keys", 1, 1, keys, "the keys, sorted"),
    B("vals", 1, 1, vals, "the values, in the order of the keys"),
    B("entries", 1, 1, entries, "[key value] pairs, in the order of the keys"),
    B("key", 1, 1, _part("key", 0), "of an entry"),
    B("val", 1, 1, _part("val", 1), "of an entry"),
    B("update-vals", 2, 2, update_vals, "the function for each value"),
)
