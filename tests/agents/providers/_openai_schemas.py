"""What OpenAI asks of JSON schemas: of parameters and answers in general, and in strict mode."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

_ROOTS: Final = ("oneOf", "anyOf", "allOf", "enum", "not")
_UNSUPPORTED: Final = ("allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else")
_DEPTH: Final = 10
_PROPERTIES: Final = 5000

Schema: TypeAlias = Mapping[str, Any]
Place: TypeAlias = tuple[str, ...]


def wrong_root(schema: Schema) -> str | None:
    """What is wrong if the root is not an object and nothing else; None if nothing is."""
    if schema.get("type") != "object":
        kind = "None" if schema.get("type") is None else f'"{schema["type"]}"'
        return f"schema must be a JSON Schema of 'type: \"object\"', got 'type: {kind}'."
    if any(key in schema for key in _ROOTS):
        return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    return None


def incomplete(schema: Schema) -> str | None:
    """What is missing if the root has no properties or an array no items; None if nothing is."""
    if "properties" not in schema:
        return "In context=(), object schema missing properties."
    for place, each in _inner(schema):
        if _is_array(each) and "items" not in each:
            return f"In context={place}, array schema missing items."
    return None


def not_strict(schema: Schema) -> str | None:
    """What strict mode has against a schema; None if nothing."""
    inner = list(_inner(schema))
    for place, each in inner:
        told = _strictly(each)
        if told is not None:
            return f"In context={place}, {told}"
    properties = sum(len(each.get("properties", ())) for _, each in inner)
    if properties > _PROPERTIES:
        return f"{properties} properties exceed the limit of {_PROPERTIES}."
    deep = depth(schema)
    return f"{deep} levels of nesting exceeds limit of {_DEPTH}." if deep > _DEPTH else None


def depth(schema: Schema) -> int:
    """Levels of objects in one another, the root being the first; definitions are looked at by themselves."""
    below = [depth(each) for _, each in _children(schema)]
    return max(below, default=0) + (schema.get("type") == "object")


def _strictly(schema: Schema) -> str | None:
    """What strict mode has against one schema; None if nothing."""
    for key in _UNSUPPORTED:
        if key in schema:
            return f"'{key}' is not permitted."
    if "$ref" in schema and len(schema) > 1:
        return f"$ref cannot have keywords {set(schema) - {'$ref'}}."
    if schema.get("type") != "object":
        return None
    if schema.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false."
    required = {*schema.get("required", ())}
    missing = [name for name in schema.get("properties", {}) if name not in required]
    if missing:
        told = "'required' is required to be supplied and to be an array including every key in properties."
        return f"{told} Missing '{missing[0]}'."
    return None


def _is_array(schema: Schema) -> bool:
    kind = schema.get("type")
    return kind == "array" or (isinstance(kind, list) and "array" in kind)


def _inner(schema: Schema, place: Place = ()) -> Iterator[tuple[Place, Schema]]:
    """A schema and all schemas in it, with their places."""
    yield place, schema
    for step, each in _children(schema):
        yield from _inner(each, (*place, *step))


def _children(schema: Schema) -> Iterator[tuple[Place, Schema]]:
    for key in ("properties", "$defs", "definitions"):
        for name, each in schema.get(key, {}).items():
            yield (key, name), each
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for index, each in enumerate(schema.get(key, ())):
            yield (key, str(index)), each
    for key in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(key), Mapping):
            yield (key,), schema[key]
