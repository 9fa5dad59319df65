"""The protocol between agents and language models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Final, Literal, Protocol, TypeAlias

from stagepost._dataclasses import dataclass

from ._filled_prompt import FilledPrompt
from ._messages import AssistantMessage, ChatMessage, ProviderContent, ToolCall, Usage
from ._provider_tool import ProviderTool
from ._settings import ModelSettings

JsonSchema: TypeAlias = Mapping[str, object]
TokenKind: TypeAlias = Literal["text", "thinking", "arguments"]

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
    """The required form of the final answer.

    Attributes:
        name: Name of the type.
        schema: Its JSON schema.
    """

    name: str
    schema: JsonSchema


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of an answer as it arrives: of its text, of the thinking before it, or of the arguments of a call.

    Attributes:
        number: The number of pieces of this answer before it. At 0 the answer starts, or starts again: it was cut off
            and requested again, or another model was asked, and earlier pieces are void.
        text: The text.
        kind: Whether it is part of the text (``"text"``), of the thinking (``"thinking"``), or of the arguments of a
            call as the model writes them (``"arguments"``). Pieces of one kind, and of arguments those of one call,
            make the whole; kinds and calls may alternate.
        tool: Name of the tool, for arguments; otherwise None. A provider that sends names in pieces may have sent only
            a part of it so far.
        call: Index of the call among those of the answer, for arguments; otherwise None.
    """

    number: int
    text: str
    kind: TokenKind = "text"
    tool: str | None = None
    call: int | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One turn's question to a model.

    Attributes:
        messages: The transcript, with the agent's prompt first.
        tools: Tools that the model may call; none on the last turn.
        output: The required form of the final answer; None for plain text. The prompt does not contain it: a model
            passes it to its provider, or adds a message of its own.
        on_token: Gets the answer piece by piece, if the model supports it: text, thinking and arguments of calls, see
            `Token.kind`; None if nobody listens. It is called inline and must not block. The response is still whole.
        settings: Settings for the model.
        provider_tools: Tools that the model's provider executes itself; also on the last turn.
        left_out: How many earlier answers of the model `messages` does not have, because the agent's `ContextPolicy`
            leaves them out.
        prompt: Where the agent's prompt is from, if it is one of a registry; see `Prompts`.
    """

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolSchema] = ()
    output: OutputSchema | None = None
    on_token: Callable[[Token], None] | None = field(default=None, compare=False, repr=False)
    settings: ModelSettings = _UNSET
    provider_tools: Sequence[ProviderTool] = ()
    left_out: int = field(default=0, compare=False, repr=False)
    prompt: FilledPrompt | None = field(default=None, compare=False, repr=False)

    @property
    def answers(self) -> int:
        """How often the model has answered before in this conversation."""
        return self.left_out + [*map(type, self.messages)].count(AssistantMessage)


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """One turn's answer: calls to make, or the final text.

    Attributes:
        text: The model's text.
        calls: The tool calls that it requests.
        usage: Tokens of the turn.
        thinking: The model's thinking, as far as the provider shows it.
        provider: Content that only the provider can read, to be sent back with the answer.
        is_final: False if the provider says that the answer is not complete and the model will continue, as with
            ``pause_turn``.
    """

    text: str = ""
    calls: Sequence[ToolCall] = ()
    usage: Usage = _UNCOUNTED
    thinking: str = ""
    provider: Sequence[ProviderContent] = ()
    is_final: bool = True


class Model(Protocol):
    """A language model: anything with ``answer``.

    It may get the same request again after a crash, from another process, and must not rely on the order of requests.

    It may have an attribute ``secrets``, texts such as its key: they are masked in its agents' runs. It may have an
    attribute ``context_window``, the tokens that it can read, or None: see `ContextPolicy`.
    """

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Answer a request. An exception fails the run, which can then be resumed."""
        ...
