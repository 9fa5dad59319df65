"""Tools whose calls somebody outside answers."""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from itertools import count
from typing import Any

from pydantic import BaseModel, JsonValue, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import to_json

from stagepost._dataclasses import dataclass
from stagepost.hub import Duration, check_name, seconds

from .._models._model import JsonSchema
from .._output._fitting import Unsendable, fitted, is_sendable_root
from .._output._schema import schema_of
from .._validation import problems
from ..errors import InvalidTool, NobodyToAnswer
from ._arguments import InvalidArguments
from ._fits_schema import imported, misfit
from ._outside import Dismiss, Outside, Question, Refuse, WaitingTool, checked_answer, complaint_of
from ._returned import ToolResult, as_result

_NOTHING: JsonSchema = {"type": "object", "properties": {}, "additionalProperties": False}
_ANYTHING: TypeAdapter[Any] = TypeAdapter(JsonValue)


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a value that comes from outside.

    Attributes:
        schema: Its JSON schema.
        read: Reads it from JSON values; raises an error if it does not fit.
    """

    schema: JsonSchema
    read: Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class GivenParameters:
    """Parameters of a tool that has no function.

    Attributes:
        schema: JSON schema, as the model sees it.
        value: What is known of all arguments together.
    """

    schema: JsonSchema
    value: Value

    @property
    def takes_context(self) -> bool:
        """Never: there is no function that could want it."""
        return False

    def parse(self, text: str) -> Mapping[str, object]:
        """The model's arguments by name, as JSON values.

        Raises:
            InvalidArguments: They are not a JSON object, or do not fit.
        """
        try:
            read = self.value.read(_ANYTHING.validate_json(text))
        except ValidationError as error:
            raise InvalidArguments(problems(error)) from error
        except BaseException as error:  # a validator of the user's raised something else
            raise InvalidArguments(complaint_of(error)) from error
        given = read.model_dump(mode="json", by_alias=True) if isinstance(read, BaseModel) else read
        if not isinstance(given, dict):
            raise InvalidArguments("Input should be an object")
        return given


@dataclass(frozen=True, eq=False)
class ExternalTool(WaitingTool):
    """A tool whose calls somebody outside answers; made by `external_tool`.

    Attributes:
        returns: What is known of the values.
    """

    returns: Value = Value({}, lambda value: value)

    @cached_property
    def answer_type(self) -> Any:
        """The type of what is sent for a call."""
        return checked_answer(self.returns.read)

    async def call(self, arguments: Mapping[str, object], outside: Outside) -> ToolResult:  # noqa: ARG002  # they are shown
        """Wait for the value; if it does not fit although it was taken, ask again, and say why."""
        refused: str | None = None
        for index in count():
            question = Question(schema=self.returns.schema, within=self.timeout, refused=refused)
            given = await outside.ask(question, index=index)
            if given is None:
                return ToolResult(f"nobody has answered in time: there is no result of {self.name}", is_error=True)
            if isinstance(given, Dismiss):
                return ToolResult(f"nobody has decided: there is no result of {self.name}", is_error=True)
            if isinstance(given, Refuse):
                why = f": {given.reason}" if given.reason else ", and nobody says why"
                return ToolResult(f"{self.name} has failed{why}", is_error=True)
            try:
                value = self.returns.read(given.value)
            except BaseException as error:  # noqa: BLE001  # a validator of the user's may raise anything
                refused = complaint_of(error)
            else:
                return as_result(self, value)
        raise AssertionError  # pragma: no cover  # `count` does not end


def external_tool(
    name: str,
    description: str,
    *,
    parameters: type[BaseModel] | JsonSchema | None = None,
    returns: object = None,
    within: Duration | None = None,
    needs_approval: bool = False,
) -> ExternalTool:
    """Make a tool whose calls are answered from outside: by a person, a browser, another service.

    A call parks its run like an approval does, for days if need be, and no process has to be there meanwhile.
    `Tasks.questions` lists it; `Tasks.answer`, or `Inbox.answer` in another process, gives its value, or says why there
    is none. In memory such a call fails the run: nobody can answer.

    Args:
        name: Its name for the model.
        description: What the model has to know of it.
        parameters: A pydantic model, or a JSON schema of an object; None if it takes nothing.
        returns: Type of the value, any that pydantic can check, or a JSON schema; None for any JSON value.
        within: Seconds (or a `timedelta`) to wait for the value; then the model is told that there is none. None for no
            limit.
        needs_approval: Whether each call needs a person's approval, before it is listed.

    Raises:
        InvalidTool: The parameters or the type cannot be expressed as JSON, or cannot be sent to every provider.
        InvalidName: The name contains characters that are not allowed.
    """
    check_name("tool name", name)

    async def function(**_arguments: object) -> object:
        raise NobodyToAnswer("", name)

    return ExternalTool(
        name=name,
        description=description,
        idempotent=True,
        timeout=None if within is None else seconds(within, "within"),
        function=function,
        needs_approval=needs_approval,
        retries=None,
        _arguments=_parameters(name, _NOTHING if parameters is None else parameters),
        returns=_value(name, "returns", returns),
    )


def _parameters(tool: str, given: type[BaseModel] | JsonSchema) -> GivenParameters:
    kind: object = given
    if not isinstance(kind, Mapping) and not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        raise InvalidTool(tool, f"parameters={given!r:.80}: give a pydantic model, or a JSON schema of an object")
    value = _value(tool, "parameters", given)
    try:
        schema = fitted(value.schema)
    except (Unsendable, RecursionError, AttributeError, TypeError, ValueError) as error:
        raise InvalidTool(tool, f"its parameters cannot be sent to every provider: {error}") from None
    schema.pop("title", None)
    if not is_sendable_root(schema):
        why = "its parameters are to be an object whose properties have names of up to 64 of the letters a-z, 0-9 and _"
        raise InvalidTool(tool, why)
    return GivenParameters(schema, value)


def _value(tool: str, what: str, given: Any) -> Value:
    """What is known of a value by its type, or by its schema."""
    if isinstance(given, Mapping):
        imported()  # or it would be missed only when a value is checked
        return Value(given, partial(_fitting, given))
    if given is None:
        return Value({}, lambda value: value)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(given)
        schema = schema_of(adapter)
    except PydanticUserError as error:
        raise InvalidTool(tool, f"{what}={given!r:.80} cannot be expressed as JSON: {error.message}") from error
    return Value(schema, lambda value: adapter.validate_json(to_json(value)))


def _fitting(schema: JsonSchema, value: Any) -> Any:
    problem = misfit(value, schema)
    if problem is not None:
        raise ValueError(problem)
    return value
