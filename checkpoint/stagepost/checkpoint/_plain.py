"""Plain values, the frequent way: their stored form, what is read of it, and several of them as one JSON object.

Each step of a stored run comes by. What is seldom met, and what cannot be stored, is left to `freeze_any`.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from pydantic_core import PydanticSerializationError, from_json, to_json

from ._frozen import BITS, KEPT, LEVELS, FrozenDict, FrozenList, JsonValue, freeze_any
from ._unwritable import check_depth, unwritable
from .errors import CannotStore

_NESTED: Final = frozenset({dict, list})
_NESTING: Final = frozenset({FrozenList, FrozenDict})
_TEXT: Final = frozenset({str})
_END: Final = ord("}")


class Unusual(Exception):
    """A value needs a closer look."""


def freeze(value: object, where: str = "value") -> JsonValue:
    """The stored form of `value`: JSON types only, immutable all the way down.

    Tuples become lists, members of an enum their value, subclasses of `str`, `int` and `float` the plain type.

    Raises:
        CannotStore: A value that JSON has no form for (dates, sets, bytes, models, keys that are no strings, …).
    """
    try:
        return freeze_usual(value)
    except Unusual:
        return freeze_any(value, where)


def freeze_usual(value: Any, depth: int = 0) -> JsonValue:
    """The stored form of what values are mostly made of: quick, and silent about where something else is.

    JSON of such a value is JSON of its stored form.

    Raises:
        Unusual: It has a part of another type, a part that cannot be stored, or very many levels.
    """
    kind = type(value)
    same: JsonValue = value
    if kind in KEPT or (kind is int and value.bit_length() <= BITS):
        return same
    if depth < LEVELS:
        if kind is dict and _TEXT.issuperset(map(type, value)):
            return FrozenDict(
                {key: part if type(part) in KEPT else freeze_usual(part, depth + 1) for key, part in value.items()}
            )
        if kind is list or kind is tuple:
            return FrozenList([part if type(part) in KEPT else freeze_usual(part, depth + 1) for part in value])
    raise Unusual


def freeze_parsed(value: Any) -> JsonValue:
    """The stored form of what a JSON parser has just made, and nobody else holds: nothing in it is to be checked."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(item) in _NESTED:
                value[key] = freeze_parsed(item)
        return FrozenDict(value)
    if kind is list:
        for index, item in enumerate(value):
            if type(item) in _NESTED:
                value[index] = freeze_parsed(item)
        return FrozenList(value)
    same: JsonValue = value
    return same


def read_frozen(data: bytes) -> JsonValue:
    """The immutable value that is stored as this JSON."""
    return freeze_parsed(from_json(data))


def plain_form(value: object, where: str) -> tuple[JsonValue, bytes]:
    """The stored form of a JSON value: as `read_frozen` would read it (but NaN is the very same object), and its JSON.

    Raises:
        CannotStore: It has none.
    """
    try:
        try:
            frozen = freeze_usual(value)
            source = value  # serialized several times as fast as the immutable subclasses of list and dict
        except Unusual:
            source = frozen = freeze_any(value, where)
    except RecursionError as error:
        raise CannotStore(
            where, "it is nested too deep for what is left of the stack: return it further out"
        ) from error
    try:
        data = to_json(source, inf_nan_mode="constants")
    except PydanticSerializationError as error:
        raise unwritable(frozen, where) from error
    if type(frozen) in _NESTING:
        check_depth(data, where)
    return frozen, data


class PlainCodec:
    """The codec of JSON values only; tuples become lists, members of an enum their value."""

    def dump(self, value: object, where: str, context: object = None) -> bytes:  # noqa: ARG002  # JSON has no types
        return plain_form(value, where)[1]

    def convert(self, value: object, where: str) -> object:  # noqa: ARG002  # the signature of codecs
        return value

    def load(self, data: bytes) -> JsonValue:
        return read_frozen(data)


def join_values(values: Mapping[str, bytes]) -> bytes:
    """One JSON object of the JSON of its values."""
    return bytes(joined(values))


def joined(values: Mapping[str, bytes]) -> bytearray:
    """The same as it is built, for who takes it like that: each step of a stored run comes by."""
    if not values:
        return bytearray(b"{}")
    data = bytearray(b"{")
    for key, value in values.items():
        data += _before(key)
        data += value
        data += b","
    data[-1] = _END
    return data


@lru_cache(maxsize=1024)
def _before(key: str) -> bytes:
    """What stands before the value of a key: the same few keys are written again and again."""
    return to_json(key) + b":"


def split_values(data: bytes) -> dict[str, bytes]:
    """The JSON of each value of a JSON object."""
    return {key: to_json(value, inf_nan_mode="constants") for key, value in from_json(data).items()}
