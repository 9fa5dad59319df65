"""A function's parameters as the model sees them and as its calls are checked against them."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError, create_model

from stagepost._dataclasses import dataclass
from stagepost.hub import describe_error
from stagepost.workflows import own_failure

from .._models._model import JsonSchema
from .._output._fitting import Unsendable, fitted, unsendable_names
from .._output._schema import schema_of
from .._validation import problems
from ..errors import InvalidTool
from ._signature import Taken, read_signature


class InvalidArguments(ValueError):
    """The model's arguments do not fit; the text goes back to it."""


class Parameters(Protocol):
    """The parameters of a tool: those of a function, or those of a schema."""

    @property
    def schema(self) -> JsonSchema:
        """JSON schema of those that the model gives."""
        ...

    @property
    def takes_context(self) -> bool:
        """Whether there is one named ``context``."""
        ...

    def parse(self, text: str) -> Mapping[str, object]:
        """The model's arguments by name.

        Raises:
            InvalidArguments: They are not a JSON object, or do not fit.
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
    _model: TypeAdapter[BaseModel]
    _taken: Mapping[str, Taken]

    def parse(self, text: str) -> dict[str, object]:
        """The model's arguments by name; the function's defaults apply to what it left out.

        Raises:
            InvalidArguments: They are not a JSON object, or do not fit.
        """
        try:
            parsed = self._model.validator.validate_json(text)
        except ValidationError as error:
            raise InvalidArguments(problems(error)) from error
        except BaseException as error:  # noqa: BLE001  # a validator of the user's raised something else
            failure = own_failure(error)
            raise InvalidArguments(describe_error(failure)) from failure
        given, values = parsed.model_fields_set, vars(parsed)
        return {
            taken.name: values[field]
            for field, taken in self._taken.items()
            if field in given or not taken.has_default  # its default stands in the annotation then
        }


def read_arguments(tool: str, function: Callable[..., object], descriptions: Mapping[str, str]) -> Arguments:
    """Read a function's parameters.

    Args:
        tool: The tool's name, for errors.
        function: The function.
        descriptions: What its docstring says about single parameters.

    Raises:
        InvalidTool: A parameter has a type that JSON cannot express or a provider refuses, or cannot be passed by name.
    """
    signature = read_signature(tool, function)
    # Fields have names of their own and parameters are their aliases, so that one may be called `json` or `schema`.
    fields = {f"field_{index}": taken for index, taken in enumerate(signature.taken)}
    odd = unsendable_names(taken.name for taken in signature.taken)
    if odd:
        why = f"some provider refuses the name of its parameter {odd[0]!r}: use up to 64 of the letters a-z, 0-9 and _"
        raise InvalidTool(tool, why)
    model = _model(tool, fields, descriptions)
    adapter: TypeAdapter[BaseModel] = TypeAdapter(model)
    return Arguments(_schema(tool, model, adapter, fields), signature.takes_context, adapter, fields)


def _model(tool: str, fields: Mapping[str, Taken], descriptions: Mapping[str, str]) -> type[BaseModel]:
    made: dict[str, Any] = {field: _field(taken, descriptions.get(taken.name)) for field, taken in fields.items()}
    try:
        return create_model("Arguments", __config__=ConfigDict(extra="forbid"), **made)
    except PydanticUserError as error:
        raise _unsayable(tool, error.message) from error


def _schema(
    tool: str, model: type[BaseModel], adapter: TypeAdapter[BaseModel], fields: Mapping[str, Taken]
) -> JsonSchema:
    try:
        plain = schema_of(adapter)
    except PydanticUserError as error:
        raise _unsayable(tool, error.message) from error
    if model.model_fields.keys() != fields.keys() or "properties" not in plain:
        raise _unsayable(tool, "ClassVar and Self mean something in classes only")
    try:
        schema = fitted(plain)
    except Unsendable as error:
        raise InvalidTool(tool, f"its parameters cannot be sent to every provider: {error}") from None
    del schema["title"]
    return schema


def _field(taken: Taken, description: str | None) -> Any:
    """A field as `create_model` takes it."""
    default = taken.default if taken.has_default else ...
    described = taken.type if not description else Annotated[taken.type, Field(description=description)]
    return described, Field(default, alias=taken.name)


def _unsayable(tool: str, why: str) -> InvalidTool:
    return InvalidTool(tool, f"a parameter has a type that JSON cannot say: {why}")
