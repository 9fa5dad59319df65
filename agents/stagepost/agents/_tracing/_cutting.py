"""Bounding what a recorder keeps. Pure."""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

_LONGEST: Final = 64 * 1024  # characters of a text
_MOST: Final = 100  # elements of a list, keys of a mapping
_DEEPEST: Final = 20


def cut(value: JsonValue, depth: int = 0) -> JsonValue:
    """A JSON value, with long texts and lists cut and a note of what is missing."""
    match value:
        case str() if len(value) > _LONGEST:
            return f"{cut(value[:_LONGEST])}... ({len(value) - _LONGEST:,} more characters)"
        case str():
            return value if value.isascii() else value.encode(errors="replace").decode()
        case list() | dict() if depth >= _DEEPEST:
            return f"... ({len(value):,} more inside)"
        case list():
            kept = [cut(each, depth + 1) for each in value[:_MOST]]
            return [*kept, f"... ({len(value) - _MOST:,} more)"] if len(value) > _MOST else kept
        case dict():
            return cut_mapping(value, depth)
        case _:
            return value


def cut_mapping(value: Mapping[str, JsonValue], depth: int = 0) -> dict[str, JsonValue]:
    """The same of a mapping."""
    kept = {key: cut(each, depth + 1) for key, each in list(value.items())[:_MOST]}
    return kept | {"...": f"{len(value) - _MOST:,} more"} if len(value) > _MOST else kept
