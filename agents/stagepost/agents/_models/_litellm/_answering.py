"""What has come of a question: an answer, or the reason why there is none."""

from collections.abc import Sequence
from typing import Final

from ...errors import AnswerCut, AnswerTooLong, ContentRefused, ContextTooLong
from .._messages import ToolCall, Usage
from .._model import ModelRequest, ModelResponse
from ._ending import Ending, ending
from ._gathering import Gathered
from ._provider import Provider

_FULL: Final = "model_context_window_exceeded"  # of Anthropic's
_FILTERED: Final = "its content filter has ended the answer"


def finished(
    request: ModelRequest, gathered: Gathered, reason: str | None, usage: Usage, *, provider: Provider, attempt: int
) -> ModelResponse:
    """The answer.

    Args:
        request: What was asked.
        gathered: What has come.
        reason: Why it has ended, as the provider says.
        usage: What it has used.
        provider: Who has answered.
        attempt: Which attempt this was.

    Raises:
        ContentRefused: The model does not want to answer, or a filter does not want it to.
        AnswerTooLong: It met the limit of tokens.
        ContextTooLong: The prompt has left no room for it.
        AnswerCut: The provider has failed in the middle.
    """
    kind, model = ending(reason), provider.model
    if gathered.refusal or kind == "refused":
        raise ContentRefused(model, gathered.refusal or _FILTERED, attempt=attempt)
    if kind == "too-long":
        if reason is not None and reason.lower() == _FULL:
            raise ContextTooLong(model, "the answer met the end of what the model can read", attempt=attempt)
        raise AnswerTooLong(model, f"it ended after {len(gathered.text)} characters", attempt=attempt)
    if kind == "cut":
        raise AnswerCut(model, f"the provider ended the answer with {reason!r}", attempt=attempt)
    turn = request.answers
    calls = gathered.calls(turn)
    return ModelResponse(
        gathered.text,
        calls,
        usage,
        thinking=gathered.thinking,
        provider=gathered.provider(provider),
        is_final=_is_final(kind, gathered.text, calls),
    )


def whole_stream(model: str, gathered: Gathered, reason: str | None, attempt: int) -> str:
    """The reason why a stream has ended.

    Raises:
        AnswerCut: There is none: it has ended before the answer has.
    """
    if reason is None:
        detail = f"the stream ended after {len(gathered.text)} characters without its end mark"
        raise AnswerCut(model, detail, attempt=attempt)
    return reason


def _is_final(kind: Ending, text: str, calls: Sequence[ToolCall]) -> bool:
    """Whether the model has said all: calls are, for what they bring comes next."""
    if calls or kind == "done":
        return True
    return kind == "unknown" and bool(text.strip())
