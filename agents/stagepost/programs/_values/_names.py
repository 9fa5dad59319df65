"""What the type of a value is called."""

from datetime import date, datetime
from typing import Any, Final

from .._fault import TYPE, Fault
from .._keyword import Keyword
from ._types import Builtin, Function, Pattern, Var

_WORDS: Final[dict[type, str]] = {
    type(None): "nil",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    Keyword: "keyword",
    frozenset: "set",
    Function: "function",
    Builtin: "function",
    Pattern: "regex",
    Var: "var",
    datetime: "date-time",
    date: "date",
}


def type_word(value: Any) -> str:
    """Such as ``string``."""
    if isinstance(value, list):
        return "vector"
    if isinstance(value, dict):
        return "map"
    return _WORDS.get(type(value), "value")


def wrong_types(name: str, *args: Any, hint: str | None = None) -> Fault:
    """The error of a function that was given what it does not take."""
    return Fault(TYPE, f"{name}: invalid argument types: {', '.join(map(type_word, args))}", hint)
