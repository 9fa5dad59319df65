"""What an agent needs of a language model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Final, Literal, Protocol, TypeAlias

from stagepost._dataclasses import dataclass

from ._messages import ChatMessage, ProviderContent, ToolCall, Usage
from ._settings import ModelSettings

JsonSchema: TypeAlias = Mapping[str, object]
TokenKind: TypeAlias = Literal["text", "thinking"]

_UNCOUNTED: Final = Usage()
_UNSET: Final = ModelSettings()


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as the model sees it.

    Attributes:
        name: Its name.
        description: What it does and when to call it.
        parameters: JSON schema of its arguments.
    """

    name: str
    description: str
    parameters: JsonSchema


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """What the final answer has to look like.

    Attributes:
        name: Name of the type.
        schema: Its JSON schema.
    """

    name: str
    schema: JsonSchema


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of an answer's text, or of the thinking before it, as it comes.

    Attributes:
        number: Pieces of this answer before it. With number 0 the answer begins, or begins anew: it was cut and asked
            for again, or another model was asked, and what came before is void.
        text: The text.
        kind: Whether it is part of the answer (``"text"``) or of what the model thinks (``"thinking"``).
    """

    number: int
    text: str
    kind: TokenKind = "text"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One turn's question to a model.

    Attributes:
        messages: All that has been said, the agent's prompt first.
        tools: Tools that the model may call; none on the last turn.
        output: What the final answer has to look like; None for plain text. The prompt does not say it: a model asks
            its provider for it, or says it in a message of its own.
        on_token: Gets the text piece by piece, if the model can; None if nobody listens. It is called inline and must
            not block. The response holds the whole text all the same.
        settings: How the model is to answer.
    """

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolSchema] = ()
    output: OutputSchema | None = None
    on_token: Callable[[Token], None] | None = field(default=None, compare=False, repr=False)
    settings: ModelSettings = _UNSET


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """One turn's answer: calls to make, or the final text.

    Attributes:
        text: What the model has written.
        calls: Tools that it wants to be called.
        usage: Tokens that the turn has cost.
        thinking: What the model has thought before, as far as the provider shows it.
        provider: What only the provider can read, to be sent back with the answer.
        is_final: False if the provider says that the answer is not complete and the model wants to go on, such as
            ``pause_turn`` does.
    """

    text: str = ""
    calls: Sequence[ToolCall] = ()
    usage: Usage = _UNCOUNTED
    thinking: str = ""
    provider: Sequence[ProviderContent] = ()
    is_final: bool = True


class Model(Protocol):
    """A language model: anything with ``answer``.

    It may be asked the same again after a crash, by another process, and must not count on being asked in order.

    It may have an attribute ``secrets``, texts such as its key: they are masked in what its agents' runs keep.
    """

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Answer a request. What it raises fails the run, which can then be resumed."""
        ...
