"""JSON schemas of types, without what says nothing to a model."""

import json
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError

from .._models._model import JsonSchema


class PlainJsonSchema(GenerateJsonSchema):
    """Schemas without titles of fields, which repeat the names; a default that JSON has no form for is left out."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  # pydantic's own way to say it

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002  # pydantic's signature
        return False

    def encode_default(self, dft: object) -> object:
        default: object = super().encode_default(dft)
        try:
            json.dumps(default, allow_nan=False)  # NaN is left as it is so far, and a provider would refuse all of it
        except ValueError as error:
            raise PydanticSerializationError(str(error)) from None
        return default


def schema_of(adapter: TypeAdapter[Any]) -> JsonSchema:
    """The JSON schema of what a type is read from.

    Raises:
        PydanticUserError: JSON cannot say the type.
    """
    return cast("JsonSchema", adapter.json_schema(schema_generator=PlainJsonSchema))
