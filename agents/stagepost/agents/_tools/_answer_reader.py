"""How a model ends its work: by a text, or by the tools ``return`` and ``fail``."""

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from stagepost._dataclasses import dataclass

from .._models._messages import AssistantMessage, ChatMessage, ToolCall, ToolMessage, UserMessage
from .._models._model import OutputSchema, ToolSchema
from .._output._output import Complaint, Output, OutputMode
from .._output._schema import PlainJsonSchema
from .._validation import problems

RETURN: Final = "return"
FAIL: Final = "fail"
RESERVED: Final = (RETURN, FAIL)

_EMPTY: Final = "Your answer was empty. Answer again"


class _Failure(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """The final answer.

    Attributes:
        output: What it holds.
    """

    output: object


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The model says that it cannot do what was asked.

    Attributes:
        reason: Why.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer means for the run.

    Attributes:
        end: How the run ends; None if it goes on.
        messages: Messages to add after the answer.
    """

    end: Accepted | GivenUp | None = None
    messages: Sequence[ChatMessage] = ()


_GOES_ON: Final = Verdict()


class AnswerReader:
    """Reads final answers.

    Args:
        output: What they have to be; None for plain text.
        mode: How the model is told.

    Attributes:
        tools: The tools that end the run, as the model sees them; none unless the mode is ``"tool"``.
        schema: What the provider has to be told; None unless the mode is ``"native"``.
        instructions: What the prompt has to say; empty unless the mode is ``"prompted"``.
    """

    def __init__(self, output: Output | None, mode: OutputMode = "tool") -> None:
        self._output = output
        self.tools: tuple[ToolSchema, ...] = ()
        self.schema: OutputSchema | None = None
        self.instructions = ""
        if output is None:
            return
        match mode:
            case "tool":
                self.tools = _tools(output)
            case "native":
                self.schema = output.to_show
            case "prompted":
                self.instructions = output.instructions

    def judge(self, answer: AssistantMessage, *, is_final: bool = True) -> Verdict:
        """What an answer means; a call that ends the run takes precedence over all others.

        Args:
            answer: The answer.
            is_final: Whether the model has said all that it wants to say.
        """
        for call in answer.calls if self.tools else ():
            if call.name in RESERVED and not isinstance(end := self._end(call), Complaint):
                return Verdict(end, [_unmade(other, call) for other in answer.calls])
        if answer.calls:
            return _GOES_ON
        return self._judge_text(answer, is_final=is_final)

    def complaint(self, call: ToolCall) -> str | None:
        """What is wrong with a call of one of the tools that end the run; None if it is of another tool."""
        if not self.tools or call.name not in RESERVED:
            return None
        end = self._end(call)
        return end.text if isinstance(end, Complaint) else ""

    def _judge_text(self, answer: AssistantMessage, *, is_final: bool) -> Verdict:
        is_empty = not answer.text.strip()
        if not is_final and not (is_empty and not answer.provider):
            return _GOES_ON  # the model continues where it stopped; no message is needed
        if is_empty:
            return Verdict(messages=[UserMessage(text=f"{_EMPTY}{self._how}.")])
        found = answer.text if self._output is None else self._output.read_text(answer.text)
        if isinstance(found, Complaint):
            return Verdict(messages=[UserMessage(text=found.text)])
        return Verdict(Accepted(found))

    @property
    def _how(self) -> str:
        if self.tools:
            return f": call {RETURN} with your final answer, {FAIL} if you cannot give one, or another tool"
        return " with a text" if self._output is None else f", with nothing but JSON of {self._output.name}"

    def _end(self, call: ToolCall) -> Accepted | GivenUp | Complaint:
        """What a call of a tool that ends the run ends it with."""
        if call.name == FAIL:
            try:
                return GivenUp(_Failure.model_validate_json(call.arguments).reason)
            except ValidationError as error:
                why = problems(error)
                return Complaint(why, f"the arguments do not fit: {why}")
        assert self._output is not None  # noqa: S101  # there is the tool
        found = self._output.read_arguments(call.arguments)
        return found if isinstance(found, Complaint) else Accepted(found)


def _tools(output: Output) -> tuple[ToolSchema, ...]:
    about = f" {output.description}" if output.description else ""
    fail = "Give up, if you cannot do what was asked; the reason is for those who asked."
    reason = _Failure.model_json_schema(schema_generator=PlainJsonSchema)
    del reason["title"]
    return (
        ToolSchema(RETURN, f"Give your final answer.{about}", output.schema),
        ToolSchema(FAIL, fail, reason),
    )


def _unmade(call: ToolCall, ending: ToolCall) -> ToolMessage:
    """The transcript has a result for each call, also for those that the end made obsolete."""
    text = "accepted" if call is ending else f"not called: {ending.name} ended the run"
    return ToolMessage(call_id=call.id, tool=call.name, text=text)
