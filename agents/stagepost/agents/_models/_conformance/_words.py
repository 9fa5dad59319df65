"""What the checks of models have in common."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, TypeAlias

from ...errors import ModelError
from .._local import ServerEntry
from .._messages import AssistantMessage, ChatMessage, SystemMessage, UserMessage
from .._model import Model, ModelRequest, ModelResponse, Token, ToolSchema

Opened: TypeAlias = Callable[[Sequence[ServerEntry]], AbstractAsyncContextManager[Model]]
"""Opens a model whose provider answers, and fails, as a script says; the script is that of a `LocalServer`."""

ModelCheck: TypeAlias = Callable[[Opened], Awaitable[None]]
"""One promise of a model: returns if it is kept, and raises `AssertionError` if it is not."""

PATIENCE: Final = 30.0  # seconds that no answer of a provider on this machine takes
LOOK: Final = ToolSchema(
    "look", "Look at a place.", {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
)


def asks(*said: ChatMessage, tools: Sequence[ToolSchema] = (), tokens: list[Token] | None = None) -> ModelRequest:
    """A request of a conversation that begins with a prompt and a question."""
    messages = (SystemMessage(text="You answer questions."), UserMessage(text="What is there?"), *said)
    return ModelRequest(messages, tools, on_token=None if tokens is None else tokens.append)


def said(response: ModelResponse) -> AssistantMessage:
    """An answer as the next request holds it."""
    return AssistantMessage(
        text=response.text, calls=tuple(response.calls), thinking=response.thinking, provider=tuple(response.provider)
    )


def equal(found: object, expected: object) -> None:
    """See that something is what it should be.

    Raises:
        AssertionError: It is not.
    """
    if found != expected:
        raise AssertionError(f"expected {expected!r}, and found {found!r}")


async def failure_of(model: Model, request: ModelRequest, kind: type[ModelError]) -> ModelError:
    """The error that a model gives instead of an answer.

    Raises:
        AssertionError: It has answered.
    """
    try:
        response = await model.answer(request)
    except kind as error:
        return error
    except ModelError as error:
        raise AssertionError(f"expected {kind.__name__}, and it raised {error!r}") from error
    raise AssertionError(f"expected {kind.__name__}, and it answered {response!r}")
