"""How a model ends its work: a text, or the tools ``return`` and ``fail`` that every agent with an output has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from .._models._messages import AssistantMessage, ChatMessage, ToolCall, ToolMessage, UserMessage
from .._models._model import ToolSchema
from .._validation import problems
from ._answer import Complaint, read_answer

RETURN: Final = "return"
FAIL: Final = "fail"
RESERVED: Final = (RETURN, FAIL)


class _Failure(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer means for the run.

    Attributes:
        updates: The output, or why the model gives up; nothing if the run goes on.
        messages: What has to be said behind the answer.
    """

    updates: Mapping[str, object] = field(default_factory=dict)
    messages: Sequence[ChatMessage] = ()


_GOES_ON: Final = Verdict()


class Closing:
    """Reads final answers.

    Args:
        output: What they have to be; None for plain text, which needs no tools to be given.

    Attributes:
        tools: The tools that end the run, as the model sees them.
    """

    def __init__(self, output: type[BaseModel] | None) -> None:
        self._output = output
        self.tools: tuple[ToolSchema, ...] = ()
        if output is not None:
            fail = "Give up, if you cannot do what was asked; the reason is for those who asked."
            self.tools = (
                ToolSchema(RETURN, "Give your final answer.", output.model_json_schema()),
                ToolSchema(FAIL, fail, _Failure.model_json_schema()),
            )

    def judge(self, answer: AssistantMessage) -> Verdict:
        """What an answer means; a call that ends the run counts for more than all that are beside it."""
        for call in answer.calls if self.tools else ():
            updates = self._ending(call)
            if updates is not None:
                return Verdict(updates, [_unmade(other, call) for other in answer.calls])
        if answer.calls:
            return _GOES_ON
        verdict = read_answer(answer.text, self._output)
        if isinstance(verdict, Complaint):
            return Verdict(messages=[UserMessage(text=verdict.text)])
        return Verdict({"output": verdict})

    def complaint(self, call: ToolCall) -> str | None:
        """What is wrong with a call of one of the tools that end the run; None if it is of another tool."""
        if self._output is None or call.name not in RESERVED:
            return None
        if call.name == RETURN:
            verdict = read_answer(call.arguments, self._output)
            return verdict.text if isinstance(verdict, Complaint) else ""
        try:
            _Failure.model_validate_json(call.arguments)
        except ValidationError as error:
            return f"the arguments do not fit: {problems(error)}"
        return ""

    def _ending(self, call: ToolCall) -> Mapping[str, object] | None:
        """What a call ends the run with; None if it does not."""
        if self.complaint(call) != "":
            return None
        if call.name == FAIL:
            return {"failure": _Failure.model_validate_json(call.arguments).reason}
        return {"output": read_answer(call.arguments, self._output)}


def _unmade(call: ToolCall, ending: ToolCall) -> ToolMessage:
    """The transcript has a result for each call, also for those that the end has overtaken."""
    text = "accepted" if call is ending else f"not called: {ending.name} ended the run"
    return ToolMessage(call_id=call.id, tool=call.name, text=text)
