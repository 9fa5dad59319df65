"""Schemas of foreign tools as model providers take them: an object, always."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue, TypeAdapter, ValidationError

from .._models._model import JsonSchema
from .._tools._arguments import InvalidArguments
from .._validation import problems

_OBJECT: Final = TypeAdapter(dict[str, JsonValue])
_INPUT: Final = "input"
_DEFINITIONS: Final = ("$defs", "definitions")  # references to them begin at the root: they have to stay there


@dataclass(frozen=True, slots=True)
class SchemaArguments:
    """The parameters of a tool that is known by its schema only; whoever has the tool checks them.

    Attributes:
        schema: What the model sees.
        wrapped: Whether the schema was no object's, and stands one level deeper now.
    """

    schema: JsonSchema
    wrapped: bool

    @property
    def takes_context(self) -> bool:
        """Never: there is no function that could want it."""
        return False

    def parse(self, text: str) -> Mapping[str, object]:
        """The arguments that a model has written, by name.

        Raises:
            InvalidArguments: They are no JSON object.
        """
        given = _read(text)
        if not self.wrapped:
            return given
        inner = given.get(_INPUT)
        if isinstance(inner, dict):
            return inner
        raise InvalidArguments(f"{_INPUT}: Input should be an object")


def read_schema(schema: JsonSchema) -> SchemaArguments:
    """Parameters by their schema. What is no object becomes the property ``input`` of one."""
    if _is_object(schema):
        return SchemaArguments({**schema, "type": "object", "properties": schema.get("properties", {})}, wrapped=False)
    hoisted = {key: schema[key] for key in _DEFINITIONS if key in schema}
    inner = {key: value for key, value in schema.items() if key not in _DEFINITIONS}
    around = {"type": "object", "properties": {_INPUT: inner}, "required": [_INPUT]}
    return SchemaArguments({**around, **hoisted}, wrapped=True)


def _is_object(schema: JsonSchema) -> bool:
    return schema.get("type") == "object" or ("type" not in schema and "properties" in schema) or not schema


def _read(text: str) -> dict[str, JsonValue]:
    try:
        return _OBJECT.validate_json(text)
    except ValidationError as error:
        raise InvalidArguments(problems(error)) from error
