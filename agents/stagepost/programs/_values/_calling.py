"""Values as functions: those of programs, built-in ones, keywords and sets."""

from collections.abc import Callable
from typing import Any, Protocol

from .._fault import ARITY, TYPE, Fault
from .._keyword import Keyword
from ._key import enc
from ._lookup import lookup, reader
from ._names import type_word
from ._types import Builtin, Function, accepts


class Caller(Protocol):
    """What built-in functions are given first: the machine."""

    def tick(self) -> None:
        """Count one step."""


def function(machine: Caller, value: Any, count: int, name: str) -> Callable[..., Any]:
    """The value as a function of so many arguments, for the built-in function of this name."""
    if type(value) is Function:
        if not accepts(value, count):
            raise Fault(ARITY, f"{name}: the function takes {arity(value)} argument(s), and {name} gives it {count}")
        return value.call
    if type(value) is Builtin:
        if not accepts(value, count):
            raise too_many(value, count)
        act = value.act
        return lambda *args: act(machine, *args)
    if count in {1, 2} and (type(value) is Keyword or type(value) is frozenset):
        return accessor(value, count)
    raise not_a_function(value, name)


def callable_value(machine: Caller, value: Any, count: int) -> Callable[..., Any]:
    """The value at the head of a call as a function; there, maps are functions, too."""
    if isinstance(value, dict) and count in {1, 2}:
        return lambda key, default=None: lookup(value, key, default)
    if type(value) is Function and not accepts(value, count):
        raise Fault(ARITY, f"{value.shown}: expected {arity(value)} argument(s), got {count}")
    if type(value) not in {Function, Builtin, Keyword, frozenset}:
        raise Fault("not_callable", f"not callable: {type_word(value)}", "only functions, keywords, maps and sets are")
    return function(machine, value, count, str(value) if type(value) is Keyword else "call")


def accessor(value: Any, count: int) -> Callable[..., Any]:
    """A keyword or a set as a function."""
    if type(value) is Keyword:
        return reader(value) if count == 1 else lambda of, default: lookup(of, value, default)
    return lambda member, default=None: member if enc(member) in value else default


def arity(value: Function | Builtin) -> str:
    """How many arguments it takes, in words."""
    if value.high is None:
        return f"at least {value.low}"
    return str(value.low) if value.low == value.high else f"{value.low} to {value.high}"


def too_many(value: Builtin, count: int) -> Fault:
    """A built-in function is called with a wrong number of arguments."""
    return Fault(ARITY, f"arity error: {value.name} expects {arity(value)} argument(s), got {count}")


def not_a_function(value: Any, name: str) -> Fault:
    """Something else stands where a function is expected."""
    hint = None
    if isinstance(value, dict):
        hint = "a map is no function here: use (fn [x] (get the-map x)), or a keyword to read a field"
    elif type(value) is str:
        hint = "a text is no function: use a keyword to read a field, such as :name"
    return Fault(TYPE, f"{name}: invalid argument types: a function is expected, got {type_word(value)}", hint)
