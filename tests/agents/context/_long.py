"""Long runs for tests: a model that calls a tool so many times, and tells what it was asked."""

from collections.abc import Sequence
from typing import Any, Final

from stagepost.agents import (
    Agent,
    AssistantMessage,
    Budget,
    ChatMessage,
    ContextPolicy,
    FunctionModel,
    ModelRequest,
    ModelResponse,
    SystemMessage,
    ToolMessage,
    Usage,
    UserMessage,
    call,
    tool,
)
from stagepost.agents._context._counting import estimate

FREE: Final = Budget(turns=None, tool_calls=None)
SUMMARY_WORD: Final = "You are given the earlier part"


def tokens(request: ModelRequest) -> int:
    """What a provider would count, by our own measure."""
    return sum(map(estimate, request.messages))


def is_summary(request: ModelRequest) -> bool:
    """Whether a request is for a summary."""
    return request.messages[0].text.startswith(SUMMARY_WORD)


class Digger:
    """A model that calls ``dig`` some times and then answers; it notes each request.

    Args:
        times: How often it calls.
        counts: Whether it says how many tokens it was asked with.
    """

    def __init__(self, times: int, *, counts: bool = True) -> None:
        self.requests: list[ModelRequest] = []
        self.summaries: list[ModelRequest] = []
        self._times = times
        self._counts = counts

    async def answer(self, request: ModelRequest) -> ModelResponse:
        return await FunctionModel(self._answer).answer(request)

    def _answer(self, request: ModelRequest) -> ModelResponse:
        usage = Usage(input_tokens=tokens(request), output_tokens=5, cost=0.01) if self._counts else Usage()
        if is_summary(request):
            self.summaries.append(request)
            return ModelResponse(f"summary {len(self.summaries)}", usage=usage)
        self.requests.append(request)
        number = request.answers
        if number < self._times and request.tools:
            made = call("dig", number=number).model_copy(update={"id": f"c{number}"})
            return ModelResponse(calls=[made], usage=usage)
        return ModelResponse("done", usage=usage)


@tool(idempotent=True)
async def dig(number: int) -> str:
    "Dig."
    return f"layer {number}: " + "x" * 400


def digger(model: Any, policy: ContextPolicy | None, **options: Any) -> Agent[str]:
    """The agent of these tests."""
    return Agent("digger", "Dig deep.", model=model, **{"tools": [dig], "budget": FREE, "context": policy, **options})


def is_paired(messages: Sequence[ChatMessage]) -> bool:
    """Whether each answer is followed by the results of its calls, and no result stands elsewhere."""
    due: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.call_id not in due:
                return False
            due.remove(message.call_id)
        elif due:
            return False
        elif isinstance(message, AssistantMessage):
            due = [each.id for each in message.calls]
    return not due


def kinds(messages: Sequence[ChatMessage]) -> str:
    """The roles of messages, a letter for each."""
    letters = {SystemMessage: "s", UserMessage: "u", AssistantMessage: "a", ToolMessage: "t"}
    return "".join(letters[type(message)] for message in messages)
