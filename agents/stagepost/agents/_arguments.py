"""A function's parameters as the model sees them and as its calls are checked against them."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter
from types import SimpleNamespace
from typing import Annotated, Any, Final, Protocol, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from ._model import JsonSchema
from ._validation import problems
from .errors import InvalidTool

_CONTEXT: Final = "context"
_NAMED: Final = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class InvalidArguments(Exception):
    """What the model wrote as arguments does not fit; the text goes back to it."""


class _Schema(GenerateJsonSchema):
    """Schemas without titles, which repeat the names; a default that JSON has no form for is left out."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  # pydantic's own way to say it

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002  # pydantic's signature
        return False


class Parameters(Protocol):
    """The parameters of a tool: those of a function, or those that a schema tells of."""

    @property
    def schema(self) -> JsonSchema:
        """JSON schema of those that the model gives."""
        ...

    @property
    def takes_context(self) -> bool:
        """Whether there is one named ``context``."""
        ...

    def parse(self, text: str) -> Mapping[str, object]:
        """The arguments that a model has written, by name.

        Raises:
            InvalidArguments: They are no JSON object, or do not fit.
        """
        ...


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parameters of a tool's function.

    Attributes:
        schema: JSON schema of those that the model gives.
        takes_context: Whether there is one named ``context``.
    """

    schema: JsonSchema
    takes_context: bool
    _model: type[BaseModel]
    _names: Mapping[str, str]

    def parse(self, text: str) -> dict[str, object]:
        """The arguments that a model has written, by name; what it left out is left to the function's defaults.

        Raises:
            InvalidArguments: They are no JSON object, or do not fit.
        """
        try:
            parsed = self._model.model_validate_json(text)
        except ValidationError as error:
            raise InvalidArguments(problems(error)) from error
        return {name: getattr(parsed, field) for field, name in self._names.items() if field in parsed.model_fields_set}


def read_arguments(tool: str, function: Callable[..., object], descriptions: Mapping[str, str]) -> Arguments:
    """Read a function's parameters.

    Args:
        tool: The tool's name, for errors.
        function: The function.
        descriptions: What its docstring says about single parameters.

    Raises:
        InvalidTool: A parameter has no type that JSON can say, or can only be given by position.
    """
    parameters = inspect.signature(function).parameters
    given = [parameter for name, parameter in parameters.items() if name != _CONTEXT]
    types = _types(tool, function, given)
    # Fields have names of their own and parameters are their aliases, so that one may be called `json` or `schema`.
    names = {f"field_{index}": parameter.name for index, parameter in enumerate(given)}
    fields: dict[str, Any] = {
        field: _field(types[parameter.name], parameter, descriptions.get(parameter.name))
        for field, parameter in zip(names, given, strict=True)
    }
    try:
        model = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
        schema = model.model_json_schema(schema_generator=_Schema)
    except PydanticUserError as error:
        raise InvalidTool(tool, f"a parameter has a type that JSON cannot say: {error.message}") from error
    del schema["title"]
    return Arguments(schema, _CONTEXT in parameters, model, names)


def _field(kind: object, parameter: Parameter, description: str | None) -> Any:
    """A field as `create_model` takes it."""
    default = ... if parameter.default is Parameter.empty else parameter.default
    described = kind if description is None else Annotated[kind, Field(description=description)]
    return described, Field(default, alias=parameter.name)


def _types(tool: str, function: Callable[..., object], given: list[Parameter]) -> dict[str, object]:
    """The parameters' annotations as objects. That of `context` is not looked at: it may be for type checkers only."""
    for parameter in given:
        if parameter.kind not in _NAMED:
            raise InvalidTool(tool, f"its parameter {parameter} cannot be given by name: write each one out")
        if parameter.annotation is Parameter.empty:
            raise InvalidTool(tool, f"its parameter {parameter.name!r} has no type: annotate it")
    annotations = {parameter.name: parameter.annotation for parameter in given}
    try:
        return get_type_hints(SimpleNamespace(__annotations__=annotations), _scope(function), include_extras=True)
    except NameError as error:
        raise InvalidTool(
            tool, f"an annotation cannot be read at run time ({error}): define the type at module level"
        ) from None


def _scope(function: Callable[..., object]) -> dict[str, object]:
    """The names that the function's annotations may use."""
    while isinstance(function, partial):
        function = function.func
    plain = inspect.unwrap(function)
    called = plain if hasattr(plain, "__globals__") else type(plain).__call__
    scope: dict[str, object] = getattr(called, "__globals__", {})
    return scope
