"""What rules look for in JSON schemas."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.agents.providers._rules import Json

_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE: Final = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def nodes(schema: Json, where: str = "") -> Iterator[tuple[str, Json]]:
    """A schema and all schemas within it, each with where it stands; what a reference points to only once."""
    yield where, schema
    for key in _MAPS:
        for name, inner in (schema.get(key) or {}).items():
            yield from _inner(inner, f"{where}.{key}.{name}")
    for key in _LISTS:
        for index, inner in enumerate(schema.get(key) or ()):
            yield from _inner(inner, f"{where}.{key}[{index}]")
    for key in _SINGLE:
        yield from _inner(schema.get(key), f"{where}.{key}")


def _inner(schema: Any, where: str) -> Iterator[tuple[str, Json]]:
    if isinstance(schema, Mapping):
        yield from nodes(dict(schema), where)


def misfit(schema: Json) -> str | None:
    """Where a schema is none: an unknown type, or a reference to nothing. None if it is one."""
    for where, node in nodes(schema):
        named = node.get("type")
        types = named if isinstance(named, list) else [named]
        if named is not None and not _TYPES.issuperset(types):
            return f"{where}.type"
        reference = node.get("$ref")
        if reference is not None and target(schema, reference) is None:
            return f"{where}.$ref"
    return None


def target(root: Json, reference: str) -> Json | None:
    """What a reference points to; None if to nothing, or out of the document."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for step in filter(None, reference.removeprefix("#").split("/")):
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else None


def recursive(root: Json) -> bool:
    """Whether a schema contains itself by way of references."""
    edges = {id_: {ref for _, node in nodes(inner) if (ref := node.get("$ref"))} for id_, inner in _named(root)}
    return any(start in _reached(edges, start) for start in edges)


def _named(root: Json) -> Iterator[tuple[str, Json]]:
    yield "#", root
    for key in ("$defs", "definitions"):
        for name, inner in (root.get(key) or {}).items():
            yield f"#/{key}/{name}", inner


def _reached(edges: Mapping[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    left = [*edges.get(start, ())] if start != "#" else []
    while left:
        reference = left.pop()
        if reference not in found:
            found.add(reference)
            left += edges.get(reference, ())
    return found
