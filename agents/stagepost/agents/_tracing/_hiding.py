"""Fields that nobody but programs may see: their names begin with ``_``. Pure."""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue
from pydantic_core import from_json, to_json

_HIDDEN: Final = "[Hidden]"
_JSON: Final = ("{", "[")
_STORED: Final = "m"  # the only key of a map that a program has kept; its keys and values take turns

_KEYWORD: Final = "k"  # the only key of a keyword that a program has kept


def without_hidden(value: JsonValue) -> JsonValue:
    """A JSON value without what is under names that begin with ``_``, also in texts that are JSON."""
    match value:
        case str() if '"_' in value and value.lstrip().startswith(_JSON):
            return _text(value)
        case list():
            return [without_hidden(each) for each in value]
        case dict() if value.keys() == {_STORED} and isinstance(value[_STORED], list):
            return {_STORED: _pairs(value[_STORED])}
        case dict():
            return {key: _HIDDEN if key.startswith("_") else without_hidden(each) for key, each in value.items()}
        case _:
            return value


def _text(text: str) -> str:
    try:
        found: JsonValue = from_json(text)
    except ValueError:
        return text
    return to_json(without_hidden(found)).decode()


def _pairs(parts: JsonValue) -> list[JsonValue]:
    """Keys and values of a map that a program has kept."""
    known = parts if isinstance(parts, list) else []
    made: list[JsonValue] = []
    for key, value in zip(known[::2], known[1::2], strict=False):
        name = key.get(_KEYWORD) if isinstance(key, Mapping) else key
        is_hidden = isinstance(name, str) and name.startswith("_")
        made += [key, _HIDDEN if is_hidden else without_hidden(value)]
    return made
