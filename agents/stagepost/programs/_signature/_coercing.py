"""Coerces inputs, and says so: texts of numbers and of booleans, and texts to keywords and back."""

import re
from collections.abc import Callable
from typing import Final

from .._keyword import Keyword
from ._texts import quoted
from ._types import Field, Kind, ListOf, MapOf, Type, bare

_INT: Final = re.compile(r"[+-]?[0-9]{1,100}")
_FLOAT: Final = re.compile(r"[+-]?[0-9]{1,100}(\.[0-9]{1,100})?([eE][+-]?[0-9]{1,3})?")
_BOOLS: Final = {"true": True, "false": False}


def coerced(type_: Type, value: object, path: str, warn: Callable[[str], None]) -> object:
    """The value as its type wants it, where that is certain; else as it was, for the check to refuse."""
    match bare(type_), value:
        case ListOf(item), list():
            return [coerced(item, each, f"{path}[{index}]", warn) for index, each in enumerate(value)]
        case MapOf(fields), dict():
            return value | coerced_fields(fields, value, path, warn)
        case Kind() as kind, str():
            return _of_text(kind, value, path, warn)
        case Kind.FLOAT, int() if not isinstance(value, bool):
            return _as_float(value)
        case _:
            return value


def coerced_fields(
    fields: tuple[Field, ...], value: dict[str, object], path: str, warn: Callable[[str], None]
) -> dict[str, object]:
    """The known fields that the value has."""
    where = f"{path}." if path else ""
    return {
        field.name: coerced(field.type, value[field.name], f"{where}{field.name}", warn)
        for field in fields
        if field.name in value
    }


def _of_text(kind: Kind, value: str, path: str, warn: Callable[[str], None]) -> object:
    made = _made(kind, value)
    if made is None:
        return value
    was = "keyword" if isinstance(value, Keyword) else "string"
    warn(f"{path}: coerced {was} {quoted(value)} to {kind.value}")
    return made


def _made(kind: Kind, value: str) -> object:
    if isinstance(value, Keyword):
        return value.twin if kind is Kind.STRING else None
    match kind:
        case Kind.INT if _INT.fullmatch(value):
            return int(value)
        case Kind.FLOAT if _FLOAT.fullmatch(value):
            return float(value)
        case Kind.BOOL:
            return _BOOLS.get(value)
        case Kind.KEYWORD:
            return Keyword(value)
        case _:
            return None


def _as_float(value: int) -> object:
    try:
        return float(value)
    except OverflowError:
        return value
