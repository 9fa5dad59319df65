"""The conversations of a run with other agents, read from its transcript."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, JsonValue, ValidationError

from stagepost._dataclasses import dataclass

from .._definition._definition import MESSAGE_AGENT
from .._models._messages import AssistantMessage, ChatMessage, ToolCall, ToolMessage
from ._calls import Talk


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message and its answer.

    Attributes:
        message: What was said.
        response: The answer: a text, or the output as JSON values; or the error.
        is_error: Whether something went wrong.
    """

    message: str
    response: JsonValue
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of one agent with another.

    Attributes:
        id: Its id, within the run.
        agent: Name of the other agent.
        exchanges: What was said and answered, in order.
        is_complete: Whether it has ended: by the agent that started it, because an answer failed, or because nobody
            has written for the idle time of the other agent.
    """

    id: str
    agent: str
    exchanges: Sequence[Exchange]
    is_complete: bool


class _Said(BaseModel):
    """Result of a message."""

    conversation_id: str
    response: JsonValue


class _Asked(BaseModel):
    """Arguments of a message."""

    message: str


def conversations(messages: Sequence[ChatMessage], talks: Mapping[str, Talk], now: float) -> Sequence[Conversation]:
    """The conversations of a run.

    Args:
        messages: Its transcript.
        talks: What its state keeps of them.
        now: Seconds since 1970.
    """
    exchanges: dict[str, list[Exchange]] = {}
    for call, result in _answered(messages):
        if call.name == MESSAGE_AGENT:
            _add(exchanges, call, result)
    return tuple(
        Conversation(conversation_id, talk.agent, tuple(exchanges.get(conversation_id, ())), talk.is_over(now))
        for conversation_id, talk in talks.items()
    )


def _add(exchanges: dict[str, list[Exchange]], call: ToolCall, result: ToolMessage) -> None:
    try:
        asked, said = _Asked.model_validate_json(call.arguments), _Said.model_validate_json(result.text)
    except ValidationError:  # a call that reached nobody
        return
    exchange = Exchange(asked.message, said.response, result.is_error)
    exchanges.setdefault(said.conversation_id, []).append(exchange)


def _answered(messages: Sequence[ChatMessage]) -> Iterator[tuple[ToolCall, ToolMessage]]:
    """Calls with their results; an id means the last call that has it."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls |= {call.id: call for call in message.calls}
        elif isinstance(message, ToolMessage) and message.call_id in calls:
            yield calls[message.call_id], message
