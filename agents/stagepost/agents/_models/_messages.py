"""Messages between an agent and its model, independent of any provider.

Messages are part of a run's state, so they come back from JSON unchanged. The arguments of a tool call stay the text
that the model wrote: the tool finds out whether they are JSON, and tells the model.
"""

from collections.abc import Iterable, Iterator
from operator import not_
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, JsonValue

from ._parts import Part


def encodable(text: str) -> str:
    """A text with a question mark for each lone surrogate, which has no form in UTF-8.

    A truncated escape, or an odd file name, contains such a surrogate.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


Text: TypeAlias = Annotated[str, AfterValidator(encodable)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, revalidate_instances="subclass-instances")  # parts are what JSON gives back


class ToolCall(_Frozen):
    """A tool call that the model requests.

    Attributes:
        id: The model's id of the call; the result carries it.
        name: The tool's name.
        arguments: The arguments as the model wrote them: normally a JSON object.
    """

    id: Text
    name: Text
    arguments: Text


class ProviderContent(_Frozen):
    """Content that only its provider can read: signed thinking, reasoning items, signatures of calls.

    It goes back to this provider unchanged and in order, and to no other.

    Attributes:
        provider: The provider, by litellm's name of it, such as ``"anthropic"``.
        model: The model that was asked.
        data: The content.
    """

    provider: Text
    model: Text
    data: tuple[JsonValue, ...]


class SystemMessage(_Frozen):
    """The agent's prompt. Made for each request and not part of the transcript.

    Attributes:
        role: The kind of message.
        text: The text.
    """

    role: Literal["system"] = "system"
    text: Text


_is_empty: Final = not_  # in C: it is called at each save


def _is_none(value: object) -> bool:
    return value is None


Parts: TypeAlias = Annotated[tuple[Part, ...], Field(exclude_if=_is_empty)]


class UserMessage(_Frozen):
    """A request, or what the model is told about an answer that could not be used.

    Attributes:
        role: The kind of message.
        text: The text.
        parts: Pictures, sounds and files.
    """

    role: Literal["user"] = "user"
    text: Text
    parts: Parts = ()


class AssistantMessage(_Frozen):
    """An answer of the model, or calls that the program makes which is in the answer before.

    Attributes:
        role: The kind of message.
        text: The text; may be empty if there are calls.
        calls: The tool calls that it requests. Without any, the text is its final answer.
        thinking: The model's thinking, as far as the provider shows it; not part of the answer.
        provider: Content that only its provider can read.
        calls_before: Of calls that a program makes: how many it has made before these; None for an answer of the model.
    """

    role: Literal["assistant"] = "assistant"
    text: Text = ""
    calls: tuple[ToolCall, ...] = ()
    thinking: Annotated[Text, Field(exclude_if=_is_empty)] = ""
    provider: Annotated[tuple[ProviderContent, ...], Field(exclude_if=_is_empty, repr=False)] = ()
    calls_before: Annotated[int | None, Field(exclude_if=_is_none, repr=False)] = None

    @property
    def is_answer(self) -> bool:
        """Whether the model has said this."""
        return self.calls_before is None


class ToolMessage(_Frozen):
    """The result of a tool call.

    Attributes:
        role: The kind of message.
        call_id: The call that this answers.
        tool: Name of the tool.
        text: The result, as JSON unless it is a text; or the error.
        is_error: Whether something went wrong.
        parts: Pictures, sounds and files of the result.
        is_json: Whether the text is JSON that a program is given the values of; False for results that models read.
    """

    role: Literal["tool"] = "tool"
    call_id: Text
    tool: Text
    text: Text
    is_error: bool = False
    parts: Parts = ()
    is_json: Annotated[bool, Field(exclude_if=_is_empty, repr=False)] = False


ChatMessage: TypeAlias = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolMessage,
    Discriminator("role"),
]
"""Any of the messages."""


def asked_parts(messages: Iterable[ChatMessage]) -> Iterator[Part]:
    """All pictures, sounds and files of requests, without results of tools."""
    for message in messages:
        if isinstance(message, UserMessage):
            yield from message.parts


class Usage(_Frozen):
    """Tokens that a model has used.

    Attributes:
        input_tokens: Read.
        output_tokens: Written.
        cost: US dollars; None if unknown.
        cached_tokens: Input tokens that came from the provider's cache.
        cache_writes: Input tokens that were written to the provider's cache.
        reasoning_tokens: Output tokens that are thinking.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    cached_tokens: int = 0
    cache_writes: int = 0
    reasoning_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=_sum([usage.cost for usage in (self, other) if usage.tokens or usage.cost is not None]),
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_writes=self.cache_writes + other.cache_writes,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


def _sum(costs: list[float | None]) -> float | None:
    """The sum of all costs, if all are known. Usage of nothing costs nothing and does not count."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None
