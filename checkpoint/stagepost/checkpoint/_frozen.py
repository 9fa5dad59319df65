"""Deeply immutable JSON values, and how any value becomes one, or who is told why it cannot."""

from collections.abc import Callable, Mapping
from enum import Enum
from types import CoroutineType, NoneType
from typing import Final, NoReturn, TypeAlias

from .errors import CannotStore

JsonValue: TypeAlias = "bool | int | float | str | FrozenList | FrozenDict | None"

LEVELS: Final = 199  # the JSON parser reads 200 levels, and a stored state is one more
BITS: Final = 14_280  # the JSON parser reads integers of 4300 digits


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise TypeError(f"{type(self).__name__} is immutable: make a copy with `{_COPY[type(self)]}(…)` and change that")


class FrozenList(list["JsonValue"]):
    """A list that refuses to change; equal to a list of the same values."""

    __slots__ = ()
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # immutable, so hashable
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[list["JsonValue"]], tuple[tuple["JsonValue", ...]]]:
        return list, (tuple(self),)  # a copy or a pickle is an ordinary list


class FrozenDict(dict[str, "JsonValue"]):
    """A dict that refuses to change; equal to a dict of the same values."""

    __slots__ = ()
    update = setdefault = pop = popitem = clear = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # immutable, so hashable
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[dict[str, "JsonValue"]], tuple[tuple[tuple[str, "JsonValue"], ...]]]:
        return dict, (tuple(self.items()),)  # a copy or a pickle is an ordinary dict


_COPY: dict[type, str] = {FrozenList: "list", FrozenDict: "dict"}
KEPT: Final = frozenset({str, bool, float, NoneType, FrozenList, FrozenDict})


def freeze_any(value: object, where: str, depth: int = 0) -> JsonValue:
    """The stored form of any value; says where in it something has none.

    Raises:
        CannotStore: Something has none.
    """
    kind = type(value)
    if kind in KEPT:
        return value  # type: ignore[return-value]  # a scalar, or frozen before
    if isinstance(value, Enum):
        return freeze_any(value.value, where, depth + 1)
    for base, make in _MAKERS:
        if isinstance(value, base):
            return make(value, where, depth + 1)
    raise CannotStore(where, _advice(value))


def _list(value: list[object] | tuple[object, ...], where: str, depth: int) -> FrozenList:
    _check_depth(where, depth)
    return FrozenList(freeze_any(item, f"{where}[{index}]", depth) for index, item in enumerate(value))


def _dict(value: Mapping[object, object], where: str, depth: int) -> FrozenDict:
    _check_depth(where, depth)
    frozen = FrozenDict((_key(key, where), freeze_any(item, f"{where}.{key}", depth)) for key, item in value.items())
    if len(frozen) != len(value):
        raise CannotStore(where, "two of its keys are the same text")
    return frozen


def _int(value: int, where: str, _depth: int) -> int:
    if value.bit_length() > BITS:
        raise CannotStore(where, "it is an integer of some 4300 digits or more: store it as text")
    return int.__int__(value)


def _check_depth(where: str, depth: int) -> None:
    if depth > LEVELS:
        raise CannotStore(f"{where[:100]}…", f"it is nested deeper than {LEVELS} levels, or contains itself")


def _key(key: object, where: str) -> str:
    if isinstance(key, Enum):
        key = key.value
    if not isinstance(key, str):
        raise CannotStore(where, f"its key {key!r} is {type(key).__name__}, and JSON has string keys only")
    return str(key)


def _advice(value: object) -> str:
    if isinstance(value, CoroutineType):
        return f"it is a coroutine that nobody has awaited: write `await {value.__name__}(…)`"
    return (
        f"{type(value).__module__}.{type(value).__qualname__} is no JSON value: "
        "return text, numbers, lists or dicts, or give the key a type (types=, expect= or state=)"
    )


_MAKERS: tuple[tuple[type | tuple[type, ...], Callable[..., JsonValue]], ...] = (
    ((list, tuple), _list),
    (Mapping, _dict),
    (str, lambda value, _where, _depth: str.__str__(value)),
    (int, _int),
    (float, lambda value, _where, _depth: float.__float__(value)),
)
