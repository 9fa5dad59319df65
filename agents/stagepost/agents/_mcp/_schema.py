"""Schemas of foreign tools as model providers take them: an object, always, without references."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import JsonValue, TypeAdapter, ValidationError

from stagepost._dataclasses import dataclass

from .._models._model import JsonSchema
from .._output._fitting import Unsendable, fitted, is_sendable_root
from .._tools._arguments import InvalidArguments
from .._validation import problems

_OBJECT: Final = TypeAdapter(dict[str, JsonValue])
_INPUT: Final = "input"
_UNREADABLE: Final = (Unsendable, RecursionError, AttributeError, TypeError, ValueError)  # too large, or no schema


@dataclass(frozen=True, slots=True)
class SchemaArguments:
    """The parameters of a tool that is known by its schema only; whoever has the tool checks them.

    Attributes:
        schema: What the model sees.
        wrapped: Whether the schema was not one that a tool's arguments may have, and stands one level deeper now.
    """

    schema: JsonSchema
    wrapped: bool

    @property
    def takes_context(self) -> bool:
        """Never: there is no function that could want it."""
        return False

    def parse(self, text: str) -> Mapping[str, object]:
        """The model's arguments by name.

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
    """Parameters by their schema. What is no object with named properties alone becomes the property ``input`` of one.

    The tool's server checks what comes. So of a schema that cannot be sent the names of the properties are enough.
    """
    try:
        made = fitted({"type": "object", **schema} if _is_object(schema) else schema, is_foreign=True)
    except _UNREADABLE:
        made = _outline(schema)
    if made.get("type") == "object":
        made = {**made, "properties": made.get("properties", {})}
    if is_sendable_root(made):
        return SchemaArguments(made, wrapped=False)
    return SchemaArguments({"type": "object", "properties": {_INPUT: made}, "required": [_INPUT]}, wrapped=True)


def _is_object(schema: JsonSchema) -> bool:
    return not schema or ("type" not in schema and "properties" in schema)


def _outline(schema: JsonSchema) -> dict[str, Any]:
    """The names of an object's properties, or any object."""
    properties = schema.get("properties")
    names = list(properties) if isinstance(properties, Mapping) else []
    try:
        return fitted({"type": "object", "properties": dict.fromkeys(names, True)})
    except Unsendable:
        return {"type": "object"}


def _read(text: str) -> dict[str, JsonValue]:
    try:
        return _OBJECT.validate_json(text)
    except ValidationError as error:
        raise InvalidArguments(problems(error)) from error
