"""Earlier transcripts as the beginning of new runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from stagepost.workflows import Continued, State

from .._models._messages import AssistantMessage, ChatMessage, ToolCall, ToolMessage

MESSAGES: Final = "messages"
_UNANSWERED: Final = "not called: the run ended before"


def continued(before: Mapping[str, Any], more: Sequence[ChatMessage], run_id: str | None) -> object:
    """The transcript of a run with more messages, as what another run starts with; nothing of it is copied.

    Of a run's own transcript only the last answer can have calls without results: it begins with none, and asks its
    model again when all are made.

    Args:
        before: State of the run.
        more: What is said next.
        run_id: Its id; None if it is not stored, or not where the other one will be.
    """
    said: Sequence[ChatMessage] = before[MESSAGES]
    then = [*_missing(said), *more]
    if run_id is not None:
        return Continued(run_id, len(said), then=then)
    return before.extended(MESSAGES, then) if isinstance(before, State) else [*repaired(said), *more]


def next_place(said: Sequence[ChatMessage]) -> int:
    """Where the first message stands that `continued` adds to a transcript."""
    return len(said) + len(_missing(said))


def is_unanswered(message: ChatMessage) -> bool:
    """Whether a message stands for the result of a call of a run that ended before it had one."""
    return isinstance(message, ToolMessage) and message.is_error and message.text == _UNANSWERED


def _missing(messages: Sequence[ChatMessage]) -> Sequence[ToolMessage]:
    """Results for the calls of the last answer that have none."""
    results = next((n for n, message in enumerate(reversed(messages)) if not isinstance(message, ToolMessage)), 0)
    answer = messages[len(messages) - results - 1] if messages else None
    if not isinstance(answer, AssistantMessage):
        return ()
    made = {message.call_id for message in messages[len(messages) - results :] if isinstance(message, ToolMessage)}
    return _unanswered({call.id: call for call in answer.calls if call.id not in made})


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
