"""Types: what a value is, and conversions between collections."""

from collections.abc import Callable
from typing import Any, Final

from .._keyword import Keyword
from .._machine import Machine
from .._values._key import enc
from .._values._names import type_word
from .._values._types import Builtin, Pattern
from ._sequence import family, one, sequence, truthy


def _is(*words: str) -> Callable[[Machine, Any], bool]:
    return lambda _, value: type_word(value) in words


def to_set(m: Machine, coll: Any) -> frozenset[Any]:
    return m.members(enc(each) for each in sequence(m, coll, "set"))


def to_vector(m: Machine, coll: Any) -> list[Any]:
    return sequence(m, coll, "vec")


def vector(m: Machine, *items: Any) -> list[Any]:
    return m.vector(list(items))


B = Builtin
TYPES: Final = family(
    "Type",
    B("not", 1, 1, one(lambda value: value is None or value is False), "true for nil and false"),
    B("boolean", 1, 1, one(truthy), "false for nil and false"),
    B("nil?", 1, 1, one(lambda value: value is None), "whether it is nil"),
    B("some?", 1, 1, one(lambda value: value is not None), "whether it is not nil"),
    B("boolean?", 1, 1, _is("boolean"), "whether it is true or false"),
    B("number?", 1, 1, _is("number"), "whether it is a number"),
    B("string?", 1, 1, _is("string"), "whether it is a text"),
    B(
        "char?",
        1,
        1,
        one(lambda value: type(value) is str and len(value) == 1),
        "whether it is a text of one character",
    ),
    B("keyword?", 1, 1, _is("keyword"), "whether it is a keyword"),
    B("vector?", 1, 1, _is("vector"), "whether it is a vector"),
    B("map?", 1, 1, _is("map"), "whether it is a map"),
    B("set?", 1, 1, _is("set"), "whether it is a set"),
    B("coll?", 1, 1, _is("vector", "map", "set"), "whether it is a vector, a map or a set"),
    B("sequential?", 1, 1, _is("vector"), "whether it is a vector"),
    B("seq?", 1, 1, _is("vector"), "whether it is a vector"),
    B("fn?", 1, 1, _is("function"), "whether it is a function"),
    B("regex?", 1, 1, one(lambda value: type(value) is Pattern), "whether it is a regular expression"),
    B("type", 1, 1, one(lambda value: Keyword(type_word(value))), "such as :number, :string or :vector"),
    B("set", 1, 1, to_set, "the elements as a set"),
    B("vec", 1, 1, to_vector, "the elements as a vector"),
    B("vector", 0, None, vector, "a vector of the arguments"),
)
