"""What a tool call asks of somebody outside its run, and what comes back."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Annotated, Any, ClassVar, Final, Literal, Protocol, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, JsonValue, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import CannotStore
from stagepost.hub import describe_error
from stagepost.workflows import StepContext, own_failure

from .._models._messages import Text
from .._models._model import JsonSchema
from .._validation import problems
from ..errors import NobodyToAnswer
from ._context import ToolContext
from ._fits_schema import misfit
from ._returned import ToolResult
from ._tool import Tool

ASKED: Final = "ask-"  # how the keys of questions begin


class Answer(BaseModel):
    """What somebody outside gives to a call that waits: a value.

    Attributes:
        kind: Tells the answers apart.
        value: The value, as JSON values; a pydantic model, for example, is given as the JSON of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["answer"] = "answer"
    value: JsonValue

    def __init__(self, value: object = ..., **others: object) -> None:
        given = {} if value is ... else {"value": to_jsonable_python(value)}
        super().__init__(**given, **others)


class Refuse(BaseModel):
    """What somebody outside gives to a call that waits: no value.

    Attributes:
        kind: Tells the answers apart.
        reason: Told to the model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["refuse"] = "refuse"
    reason: Text = ""

    def __init__(self, reason: str = "", **others: object) -> None:
        super().__init__(reason=reason, **others)


class Dismiss(BaseModel):
    """What somebody outside gives to a call that waits: nothing, neither a value nor a refusal.

    An MCP server is told that nobody has chosen; an external tool fails as if it was refused.

    Attributes:
        kind: Tells the answers apart.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["dismiss"] = "dismiss"


AnyAnswer: TypeAlias = Annotated[Answer | Refuse | Dismiss, Discriminator("kind")]
"""What somebody says to a question."""

Tell: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""Is told of the progress of a call, the total if it is known, and a message."""

Check: TypeAlias = Callable[[JsonValue], object]
"""Raises a `ValueError` that says what is wrong with a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a call waits for.

    Attributes:
        schema: JSON schema of the value.
        message: What people are told.
        server: Name of the MCP server that asks; None if the tool does.
        within: Seconds to wait for it; None for no limit.
        refused: Why the value before was not taken, if this asks again.
        url: Where a person has to go, if that is what the call waits for; the value is null then.
    """

    schema: JsonSchema
    message: str = ""
    server: str | None = None
    within: float | None = None
    refused: str | None = None
    url: str | None = None

    @property
    def told(self) -> Mapping[str, object]:
        """What is stored of it, and shown to whoever answers."""
        more = {"message": self.message, "server": self.server, "refused": self.refused, "url": self.url}
        return {"schema": self.schema, **{name: value for name, value in more.items() if value}}


class AtMostOnce(Protocol):
    """Makes a call of a tool with effects at most once, part by part."""

    async def __call__(
        self, make: Callable[[], Awaitable[ToolResult]], *, part: int = 0, is_begun: bool = False
    ) -> ToolResult:
        """The result; or that nobody knows it, because an earlier process has begun to make it.

        Args:
            make: Makes it.
            part: Number of the part.
            is_begun: Whether an earlier process has begun it, although nothing says so.
        """
        ...


@dataclass(frozen=True, slots=True)
class Outside:
    """Given to calls that may wait for somebody outside.

    Attributes:
        step: The step that makes the call: what it saves (`StepContext.first`, `StepContext.once`) under a key with
            `number` in it is there when the call is made again.
        number: The call's number, which no other call of the run has.
        context: What any tool may know.
        shown: Gives agent, tool and arguments, for people.
        at_most_once: Makes the call, or a part of it, at most once.
        progress: Is told how far the call is; None if nobody wants to know.
    """

    step: StepContext
    number: str
    context: ToolContext
    shown: Callable[[], Mapping[str, object]]
    at_most_once: AtMostOnce
    progress: Tell | None = None

    async def ask(self, question: Question, *, index: int = 0) -> AnyAnswer | None:
        """What somebody answers; None if nobody has in time.

        Until then the run is parked: the call is left by an exception, and made again from its beginning once the
        answer is there, which is then returned at once. So this has to be awaited in the task of the step.

        Args:
            question: What is asked.
            index: The number of questions that this call has asked before.

        Raises:
            NobodyToAnswer: The run is in memory.
        """
        if not self.step.is_durable:
            raise NobodyToAnswer(self.context.agent, str(self.shown()["tool"]))
        given: AnyAnswer | None = await self.step.wait_for_answer(
            f"{ASKED}{self.number}-{index}",
            expect=AnyAnswer | None,
            show={**self.shown(), **question.told},
            within=question.within,
        )
        return given


class WaitingTool(Tool[..., object], ABC):
    """A tool whose calls may wait for somebody outside the run.

    A call that waits is made again, from its beginning, once there is an answer. What must not happen twice, `call`
    does by `Outside.at_most_once`.

    Attributes:
        leaves_mark: Whether a call begins by that, so that its beginning may be saved with the answer that wants it.
    """

    leaves_mark: ClassVar[bool] = False

    @abstractmethod
    async def call(self, arguments: Mapping[str, object], outside: Outside) -> ToolResult:
        """Make a call. Errors are told to the model, those that end a run excepted.

        Args:
            arguments: Those of the call, as `parse` gives them.
            outside: Asks people, and knows what was saved.
        """


def given_answer(question_id: str, value: object) -> AnyAnswer:
    """An answer; a value alone becomes one.

    Raises:
        CannotStore: The value has no JSON form.
    """
    if isinstance(value, Answer | Refuse | Dismiss):
        return value
    try:
        return Answer(value)
    except (PydanticSerializationError, ValidationError) as error:
        raise CannotStore(f"the answer to {question_id}", f"it has no JSON form: {error}") from None


def checked_answer(check: Check) -> Any:
    """The type of an answer whose value is checked: it stays the JSON that was given.

    Args:
        check: Checks the value.
    """
    return Annotated[AnyAnswer | None, AfterValidator(partial(_checked, check))]


def answer_to(shown: Any) -> Any:
    """The type of an answer to a question of which only what is shown is known.

    Args:
        shown: What is shown.
    """
    return checked_answer(partial(_check_schema, shown["schema"]))


def complaint_of(error: BaseException) -> str:
    """What is wrong with a value, by the error of a check."""
    if isinstance(error, ValidationError):
        return problems(error)
    return str(error) if isinstance(error, ValueError) else describe_error(own_failure(error))


def _checked(check: Check, given: AnyAnswer | None) -> AnyAnswer | None:
    if isinstance(given, Answer):
        try:
            check(given.value)
        except BaseException as error:  # noqa: BLE001  # a validator of the user's may raise anything
            raise ValueError(complaint_of(error)) from None
    return given


def _check_schema(schema: JsonSchema, value: JsonValue) -> None:
    problem = misfit(value, schema)
    if problem is not None:
        raise ValueError(problem)
