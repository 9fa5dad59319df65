"""A conversation as providers want it: each call with its one result, right after the answer that makes it."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from stagepost._dataclasses import dataclass

from .._messages import AssistantMessage, ChatMessage, SystemMessage, ToolMessage, UserMessage

_MISSING: Final = "There is no result of this call."


@dataclass(frozen=True, slots=True)
class Exchange:
    """An answer of the model, and what came of its calls.

    Attributes:
        answer: The answer.
        results: One for each call, in their order.
    """

    answer: AssistantMessage
    results: Sequence[ToolMessage]


Said: TypeAlias = UserMessage | Exchange


def conversation(messages: Sequence[ChatMessage]) -> Iterator[Said]:
    """What was said, without the prompt.

    A call that has no result is given one that says so, and what comes for no call, or for one that has its result, is
    told as text: no provider takes anything else.
    """
    for answer, rest in _steps(messages):
        results = [message for message in rest if isinstance(message, ToolMessage)]
        if answer is not None:
            yield Exchange(answer, [_result(call.id, call.name, results) for call in answer.calls])
        yield from map(_as_text, results)
        yield from (message for message in rest if isinstance(message, UserMessage))


def prompt(messages: Sequence[ChatMessage]) -> str:
    """All that was said about what the agent is for."""
    said = (message.text for message in messages if isinstance(message, SystemMessage))
    return "\n\n".join(text for text in said if text.strip())


def _steps(messages: Sequence[ChatMessage]) -> Iterator[tuple[AssistantMessage | None, list[ChatMessage]]]:
    """Each answer with what follows it, up to the next one."""
    answer: AssistantMessage | None = None
    rest: list[ChatMessage] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            yield answer, rest
            answer, rest = message, []
        else:
            rest.append(message)
    yield answer, rest


def _as_text(result: ToolMessage) -> UserMessage:
    return UserMessage(text=f"Result of {result.tool}: {result.text}", parts=result.parts)


def _result(call_id: str, name: str, results: list[ToolMessage]) -> ToolMessage:
    """The first result of the call, taken out of the results."""
    for index, message in enumerate(results):
        if message.call_id == call_id:
            return results.pop(index)
    return ToolMessage(call_id=call_id, tool=name, text=_MISSING, is_error=True)
