"""Parts from their form for JSON."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from functools import lru_cache
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from .._validation import problems
from ..errors import InvalidPart
from ._part import StreamPart
from ._parts import PARTS

_TYPES: Final[Mapping[str, type[StreamPart]]] = {part.type: part for part in PARTS}
_SUFFIXED: Final = {"from": "from_"}  # a word that no field can have as its name


def part_from_dict(data: Mapping[str, Any]) -> StreamPart:
    """The part that `StreamPart.to_dict` has told, also after JSON.

    Args:
        data: That; keys that the type does not know are ignored.

    Raises:
        InvalidPart: The type is unknown, or a field is missing or not what it should be.
    """
    name = data.get("type")
    if not isinstance(name, str):
        raise InvalidPart(None, f"its type is {name!r:.80}: give one of {', '.join(_TYPES)}")
    if name not in _TYPES:
        raise InvalidPart(name, f"there is no such type; there are: {', '.join(_TYPES)}")
    given = {_SUFFIXED.get(key, key): value for key, value in data.items() if key != "type"}
    try:
        part = _reader(name).validate_json(to_json(given), strict=True)
    except ValidationError as error:
        raise InvalidPart(name, problems(error).replace("from_:", "from:")) from None
    except PydanticSerializationError as error:
        raise InvalidPart(name, f"it has no JSON form: {error}") from None
    if part.timestamp.tzinfo is None:
        raise InvalidPart(name, "timestamp: Input should have a time zone")
    return replace(part, timestamp=part.timestamp.astimezone(UTC))


@lru_cache(maxsize=len(PARTS))
def _reader(name: str) -> TypeAdapter[StreamPart]:
    return TypeAdapter(_TYPES[name])
