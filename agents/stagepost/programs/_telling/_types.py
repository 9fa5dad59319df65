"""Types as models are told them: of JSON schemas, of values, and examples of values."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final

from .._keyword import Keyword
from .._signature._types import Field, Kind, ListOf, MapOf, Maybe, Type
from .._signature._writing import write_type
from .._values._hidden import HIDDEN, is_firewalled
from .._values._key import enc
from .._values._names import type_word
from .._values._order import ordered
from .._values._show import show
from .._values._types import Builtin, Function

_KINDS: Final = {"string": ":string", "integer": ":int", "number": ":float", "boolean": ":bool", "object": ":map"}
_ATOMS: Final[dict[type, str]] = {
    bool: ":bool",
    int: ":int",
    float: ":float",
    str: ":string",
    Keyword: ":keyword",
}
_EXAMPLES: Final = {
    Kind.STRING: '"text"',
    Kind.INT: "42",
    Kind.FLOAT: "1.5",
    Kind.BOOL: "true",
    Kind.KEYWORD: ":name",
    Kind.ANY: '"value"',
    Kind.MAP: "{:key 1}",
}
_SAMPLED: Final = 3  # items
_DEEP: Final = 3
_LONG: Final = 60  # characters of a text in a sample
_WORD: Final = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
FIREWALLED: Final = f"{HIDDEN} [Firewalled]"


def of_schema(schema: Mapping[str, Any]) -> str:
    """The type of signatures for a JSON schema; what has no form there is ``:any``."""
    for union in ("anyOf", "oneOf"):
        if union in schema:
            members = [each for each in schema[union] if each.get("type") != "null"]
            mark = "?" if len(members) < len(schema[union]) else ""
            return (of_schema(members[0]) if len(members) == 1 else ":any") + mark
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        return f"[{of_schema(items) if isinstance(items, Mapping) else ':any'}]"
    return _KINDS.get(kind, ":any") if isinstance(kind, str) else ":any"


def of_value(value: Any) -> str:
    """The type of signatures for a value, as far as its first elements say."""
    if isinstance(value, (list, tuple)):
        kinds = {of_value(each) for each in islice(value, _SAMPLED)}
        return f"[{kinds.pop() if len(kinds) == 1 else ':any'}]"
    if isinstance(value, (set, frozenset)):
        return "set"
    if isinstance(value, Mapping):
        return ":map"
    return "nil" if value is None else _ATOMS.get(type(value)) or type_word(value)


def of_field(field: Field) -> str:
    """The type of a field."""
    return write_type(field.type)


def sample(value: Any, most: int) -> str:
    """The beginning of a value, of so many characters; fields whose names begin with ``_`` are hidden."""
    if isinstance(value, (list, tuple, set, frozenset, Mapping)) and len(value) > _SAMPLED:
        text = show(_small(value, 0))
        text = f"{text[:-1]} ...{text[-1]}"
    else:
        text = show(_small(value, 0))
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def _small(value: Any, depth: int) -> Any:
    """A value with few elements."""
    if isinstance(value, Mapping):
        if depth == _DEEP:
            return {}
        pairs = islice(value.items(), _SAMPLED if depth == 0 else _SAMPLED * 2)
        return {_key(key): HIDDEN if is_firewalled(key) else _small(of, depth + 1) for key, of in pairs}
    if isinstance(value, (list, tuple)):
        return [] if depth == _DEEP else [_small(each, depth + 1) for each in islice(value, _SAMPLED)]
    if isinstance(value, (set, frozenset)):
        return frozenset(islice(ordered(map(enc, value)), _SAMPLED))
    if isinstance(value, str) and not isinstance(value, Keyword) and len(value) > _LONG:
        return f"{value[:_LONG]}…"
    return value


def _key(key: Any) -> Any:
    """A key as programs write it."""
    return Keyword(key) if type(key) is str and _WORD.fullmatch(key) else key


def is_function(value: Any) -> bool:
    """Whether it is a function."""
    return isinstance(value, (Function, Builtin))


def example(type_: Type) -> str:
    """A value of a type, as a program would write it."""
    match type_:
        case Kind() as kind:
            return _EXAMPLES[kind]
        case ListOf(item):
            return f"[{example(item)}]"
        case Maybe(of):
            return example(of)
        case MapOf(fields):
            return example_map([(field.name, example(field.type)) for field in fields])


def example_map(pairs: Sequence[tuple[str, str]]) -> str:
    """A map, as a program would write it."""
    return f"{{{' '.join(f':{name} {text}' for name, text in pairs)}}}"


def example_of_schema(schema: Mapping[str, Any]) -> str:
    """A value that fits a JSON schema, as a program would write it."""
    text = of_schema(schema).removesuffix("?")
    if text.startswith("["):
        items = schema.get("items")
        return f"[{example_of_schema(items) if isinstance(items, Mapping) else ''}]"
    return _EXAMPLES.get(Kind(text[1:]), "nil")


def described(value: Any) -> str:
    """The type of a value of memory, in a word."""
    return "date-time" if isinstance(value, datetime) else of_value(value).lstrip(":")
