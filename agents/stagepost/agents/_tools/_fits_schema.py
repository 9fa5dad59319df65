"""Whether a JSON value fits a JSON schema, for values whose type is known by its schema only.

These keywords count: ``type``, ``enum``, ``const``, ``properties``, ``required``, ``additionalProperties``,
``minProperties``, ``maxProperties``, ``items``, ``prefixItems``, ``minItems``, ``maxItems``, ``uniqueItems``,
``minLength``, ``maxLength``, ``pattern``, ``minimum``, ``maximum``, ``exclusiveMinimum``, ``exclusiveMaximum``,
``multipleOf``, ``anyOf``, ``oneOf``, ``allOf``, ``not``, and ``$ref`` into the schema itself. Others, such as
``format``, are words for people.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import JsonValue
from pydantic_core import to_json

from .._models._model import JsonSchema

_DEEPEST: Final = 200  # schemas within each other: a reference may lead to itself


def misfit(value: JsonValue, schema: JsonSchema) -> str | None:
    """What is wrong with a value and where, without the value itself; None if it fits.

    Args:
        value: The value.
        schema: The schema.
    """
    return next(_Check(schema).problems(value, schema, "", 0), None)


class _Check:
    """Checks values against one schema.

    Args:
        root: The schema that references lead into.
    """

    def __init__(self, root: JsonSchema) -> None:
        self._root = root

    def problems(self, value: JsonValue, schema: Any, where: str, depth: int) -> Iterator[str]:
        if schema is False or depth > _DEEPEST:
            yield _at(where, "nothing is allowed here" if schema is False else "the value is nested too deep")
        if not isinstance(schema, Mapping):
            return
        if isinstance(reference := schema.get("$ref"), str):
            yield from self.problems(value, self._target(reference), where, depth + 1)
        for keyword, told in _simple(value, schema):
            yield _at(where, f"{told} ({keyword})")
        yield from self._combined(value, schema, where, depth + 1)
        if isinstance(value, dict):
            yield from self._object(value, schema, where, depth + 1)
        elif isinstance(value, list):
            yield from self._array(value, schema, where, depth + 1)

    def _combined(self, value: JsonValue, schema: Mapping[str, Any], where: str, depth: int) -> Iterator[str]:
        def fits(one: Any) -> bool:
            return next(self.problems(value, one, where, depth), None) is None

        for one in _several(schema, "allOf"):
            yield from self.problems(value, one, where, depth)
        if (any_of := _several(schema, "anyOf")) and not any(map(fits, any_of)):
            yield _at(where, "it fits none of the possible forms (anyOf)")
        if (one_of := _several(schema, "oneOf")) and sum(map(fits, one_of)) != 1:
            yield _at(where, "it does not fit exactly one of the possible forms (oneOf)")
        if "not" in schema and fits(schema["not"]):
            yield _at(where, "it has a form that is excluded (not)")

    def _object(
        self, value: Mapping[str, JsonValue], schema: Mapping[str, Any], where: str, depth: int
    ) -> Iterator[str]:
        known = schema.get("properties")
        properties: Mapping[str, Any] = known if isinstance(known, Mapping) else {}
        for name in _several(schema, "required"):
            if name not in value:
                yield _at(f"{where}.{name}", "it is missing (required)")
        for name, inner in value.items():
            inside = f"{where}.{name}"
            if name in properties:
                yield from self.problems(inner, properties[name], inside, depth)
            elif schema.get("additionalProperties") is False:
                yield _at(inside, "there is no such property (additionalProperties)")
            else:
                yield from self.problems(inner, schema.get("additionalProperties"), inside, depth)

    def _array(self, value: Sequence[JsonValue], schema: Mapping[str, Any], where: str, depth: int) -> Iterator[str]:
        first = _several(schema, "prefixItems")
        for index, inner in enumerate(value):
            one = first[index] if index < len(first) else schema.get("items")
            yield from self.problems(inner, one, f"{where}.{index}", depth)

    def _target(self, reference: str) -> Any:
        """What a reference into the schema stands for; anything, if it leads nowhere."""
        found: Any = self._root
        for step in reference.removeprefix("#").split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        return found


def _simple(value: JsonValue, schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with a value as far as its own keywords say, each with the keyword."""
    kinds = schema.get("type")
    if kinds is not None and not any(_is_of(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield "type", f"it is not of type {kinds if isinstance(kinds, str) else ' or '.join(kinds)}"
    if "const" in schema and not _same(value, schema["const"]):
        yield "const", f"it is not {to_json(schema['const']).decode()}"
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        yield "enum", f"it is none of {to_json(schema['enum']).decode()}"
    for keyword, (kind, is_wrong, told) in _LIMITS.items():
        limit = schema.get(keyword)
        if limit is not None and limit is not False and _is_of(value, kind) and is_wrong(value, limit):
            yield keyword, told.format(limit)


def _is_of(value: JsonValue, kind: str) -> bool:
    match kind:
        case "integer":
            return not isinstance(value, bool) and (isinstance(value, int) or _is_whole(value))
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "null":
            return value is None
        case _:
            return isinstance(value, _TYPES.get(kind, object))


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


def _same(one: JsonValue, other: JsonValue) -> bool:
    """Whether two JSON values are equal; True is not 1."""
    return one == other and isinstance(one, bool) is isinstance(other, bool)


def _is_no_multiple(value: float, step: float) -> bool:
    return step > 0 and abs(value / step - round(value / step)) > 1e-9  # noqa: PLR2004  # floats: 0.3 is three times 0.1


def _has_twice(value: Sequence[JsonValue], _: object) -> bool:
    return any(_same(one, other) for index, one in enumerate(value) for other in value[:index])


def _mismatches(value: str, pattern: str) -> bool:
    try:
        return re.search(pattern, value) is None
    except re.error:  # of another kind of patterns
        return False


def _several(schema: Mapping[str, Any], keyword: str) -> Sequence[Any]:
    found = schema.get(keyword)
    return found if isinstance(found, list | tuple) else ()


def _at(where: str, told: str) -> str:
    return f"{where.removeprefix('.')}: {told}" if where else told


_TYPES: Final[Mapping[str, type]] = {"string": str, "boolean": bool, "object": dict, "array": list}
_LIMITS: Final[Mapping[str, tuple[str, Callable[[Any, Any], bool], str]]] = {
    "minLength": ("string", lambda value, limit: len(value) < limit, "it has fewer than {} characters"),
    "maxLength": ("string", lambda value, limit: len(value) > limit, "it has more than {} characters"),
    "pattern": ("string", _mismatches, "it does not match {!r}"),
    "minimum": ("number", lambda value, limit: value < limit, "it is less than {}"),
    "maximum": ("number", lambda value, limit: value > limit, "it is more than {}"),
    "exclusiveMinimum": ("number", lambda value, limit: value <= limit, "it is not more than {}"),
    "exclusiveMaximum": ("number", lambda value, limit: value >= limit, "it is not less than {}"),
    "multipleOf": ("number", _is_no_multiple, "it is no multiple of {}"),
    "minItems": ("array", lambda value, limit: len(value) < limit, "it has fewer than {} items"),
    "maxItems": ("array", lambda value, limit: len(value) > limit, "it has more than {} items"),
    "uniqueItems": ("array", _has_twice, "an item is there twice"),
    "minProperties": ("object", lambda value, limit: len(value) < limit, "it has fewer than {} properties"),
    "maxProperties": ("object", lambda value, limit: len(value) > limit, "it has more than {} properties"),
}
