"""What a model is given that writes a summary: a conversation as one text, so that no provider's rules apply to it."""

from collections.abc import Iterator, Sequence
from typing import Final

from .._models._messages import AssistantMessage, ChatMessage, SystemMessage, ToolMessage, UserMessage
from .._models._model import ModelRequest
from ._excerpt import excerpt
from ._view import View
from ._window import SummaryBy

_RESULT: Final = 4_000  # characters of a result or a request, for a summary
_ASK: Final = "Write the summary of this conversation."


def summary_request(transcript: Sequence[ChatMessage], view: View, by: SummaryBy, room: int | None) -> ModelRequest:
    """The request for the summary that is due.

    Args:
        transcript: All that was said.
        view: What the model sees, and the summary that is due.
        by: Who writes it.
        room: The most characters of the conversation; None for no limit.
    """
    said = "\n\n".join(_parts(transcript, view))
    text = f"{_ASK}\n\n{said if room is None else excerpt(said, room, None)}\n\n{_ASK}"
    return ModelRequest((SystemMessage(text=by.instructions), UserMessage(text=text)), settings=by.settings)


def _parts(transcript: Sequence[ChatMessage], view: View) -> Iterator[str]:
    yield f"The first request, which stays: {excerpt(transcript[0].text, _RESULT, None)}"
    if view.summary:
        yield f"Summary of what was said after that:\n{view.summary}"
    for start, stop in () if view.due is None else view.due.places:
        yield from map(_told, transcript[start:stop])


def _told(message: ChatMessage) -> str:
    match message:
        case AssistantMessage():
            calls = [f"Assistant calls {call.name}: {call.arguments}" for call in message.calls]
            said = [f"Assistant: {message.text}"] if message.text.strip() else []
            return "\n".join([*said, *calls])
        case ToolMessage():
            failed = "Error" if message.is_error else "Result"
            return f"{failed} of {message.tool}: {excerpt(message.text, _RESULT, None)}{_shown(message)}"
        case UserMessage():
            return f"User: {excerpt(message.text, _RESULT, None)}{_shown(message)}"
        case _:
            return ""


def _shown(message: UserMessage | ToolMessage) -> str:
    return "".join(f" [{part.kind}{f': {part.name}' if part.name else ''}]" for part in message.parts)
