"""Earlier transcripts as the beginning of new runs."""

from collections.abc import Iterable, Sequence

from .._models._messages import AssistantMessage, ChatMessage, ToolCall, ToolMessage

_UNANSWERED = "not called: the run ended before"


def repaired(messages: Iterable[ChatMessage]) -> Sequence[ChatMessage]:
    """A transcript in which each call is followed by its result, as providers require.

    A call without a result, left by a failed or cancelled run, gets one that says so.
    """
    whole: list[ChatMessage] = []
    due: dict[str, ToolCall] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            due.pop(message.call_id, None)
        else:
            whole += _unanswered(due)
            due = {call.id: call for call in message.calls} if isinstance(message, AssistantMessage) else {}
        whole.append(message)
    return (*whole, *_unanswered(due))


def _unanswered(due: dict[str, ToolCall]) -> list[ToolMessage]:
    return [ToolMessage(call_id=call.id, tool=call.name, text=_UNANSWERED, is_error=True) for call in due.values()]
