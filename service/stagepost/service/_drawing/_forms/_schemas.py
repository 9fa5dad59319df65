"""JSON schemas as pydantic writes them, taken apart: references resolved, null told from the rest."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_FOLLOWED = 50  # references that lead to references


class Meant(NamedTuple):
    """A schema as a form sees it.

    Attributes:
        schema: Without references at its root, and without null.
        takes_null: Whether null fits as well.
    """

    schema: Mapping[str, Any]
    takes_null: bool


class Schemas:
    """The schemas of one document.

    Args:
        root: The document.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def meant(self, schema: object) -> Meant:
        """What a schema says: with its references resolved, and what stands beside them taken over."""
        found, takes_null = self._resolved(schema), False
        for word in ("anyOf", "oneOf"):
            ways = found.get(word)
            if isinstance(ways, list):
                others = [way for way in ways if not self._is_null(way)]
                takes_null = len(others) < len(ways)
                around = {key: each for key, each in found.items() if key != word}
                if len(others) == 1:
                    found = {**self._resolved(others[0]), **around}
                elif _constants(others) is not None:
                    found = {**around, "enum": _constants(others)}
        kinds = found.get("type")
        if isinstance(kinds, list) and "null" in kinds:
            others = [kind for kind in kinds if kind != "null"]
            found = {**found, "type": others[0] if len(others) == 1 else others}
            takes_null = True
        if isinstance(found.get("enum"), list) and None in found["enum"]:
            found = {**found, "enum": [each for each in found["enum"] if each is not None]}
            takes_null = True
        return Meant(found, takes_null or found.get("type") == "null")

    def _is_null(self, schema: object) -> bool:
        found = self._resolved(schema)
        return found.get("type") == "null" or ("const" in found and found["const"] is None)

    def _resolved(self, schema: object) -> Mapping[str, Any]:
        found: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {}
        for _ in range(_FOLLOWED):
            whole = found.get("allOf")
            if "$ref" in found:
                around = {key: each for key, each in found.items() if key != "$ref"}
                found = {**self._at(found["$ref"]), **around}
            elif isinstance(whole, list) and len(whole) == 1 and isinstance(whole[0], Mapping):
                around = {key: each for key, each in found.items() if key != "allOf"}
                found = {**whole[0], **around}
            else:
                return found
        return {}

    def _at(self, reference: object) -> Mapping[str, Any]:
        """What a reference within the document leads to; nothing for others."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return {}
        found: Any = self._root
        for part in filter(None, reference[1:].split("/")):
            key = part.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}


def _constants(ways: Sequence[object]) -> Sequence[Any] | None:
    """The values of alternatives that are constants; None if one of them is none."""
    if ways and all(isinstance(way, Mapping) and "const" in way for way in ways):
        return [way["const"] for way in ways if isinstance(way, Mapping)]
    return None
