"""Writes a signature as text, in one spelling: read again, it is the same signature."""

from ._types import Field, Kind, ListOf, MapOf, Maybe, Type


def write(params: tuple[Field, ...], returns: Type) -> str:
    """The whole signature."""
    return f"({_fields(params)}) -> {write_type(returns)}" if params else write_type(returns)


def write_type(type_: Type) -> str:
    """One type."""
    match type_:
        case Kind() as kind:
            return f":{kind.value}"
        case ListOf(item):
            return f"[{write_type(item)}]"
        case MapOf(fields):
            return f"{{{_fields(fields)}}}"
        case Maybe(of):
            return f"{write_type(of)}?"


def _fields(fields: tuple[Field, ...]) -> str:
    return ", ".join(f"{field.name} {write_type(field.type)}" for field in fields)
