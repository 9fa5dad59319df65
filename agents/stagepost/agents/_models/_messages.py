"""What an agent and its model say to each other, in the words of no provider.

Messages are part of a run's state, so they come back from JSON as they went in. The arguments of a tool call stay the
text that the model wrote: whether they are JSON at all is for the tool to find out and for the model to be told.
"""

from collections.abc import Iterable, Iterator
from operator import not_
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, JsonValue

from ._parts import Part


def encodable(text: str) -> str:
    """A text with a question mark for each half of a surrogate pair, which has no form in UTF-8.

    A cut escape, or an odd file name, leaves such a half.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


Text: TypeAlias = Annotated[str, AfterValidator(encodable)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, revalidate_instances="subclass-instances")  # parts are what JSON gives back


class ToolCall(_Frozen):
    """A tool that the model wants to be called.

    Attributes:
        id: The model's name for the call; the result carries it.
        name: The tool's name.
        arguments: What the model wrote as arguments: the JSON of an object, if it did well.
    """

    id: Text
    name: Text
    arguments: Text


class ProviderContent(_Frozen):
    """What only the provider that made it can read: signed thinking, items of reasoning, signatures of calls.

    It goes back to this provider as it came and in its order, and to no other.

    Attributes:
        provider: The provider, by litellm's name of it, such as ``"anthropic"``.
        model: The model that was asked.
        data: The content.
    """

    provider: Text
    model: Text
    data: tuple[JsonValue, ...]


class SystemMessage(_Frozen):
    """What the agent is for: its prompt. Made anew for each request and not part of the transcript.

    Attributes:
        role: Tells the kinds of messages apart.
        text: The text.
    """

    role: Literal["system"] = "system"
    text: Text


_is_empty: Final = not_  # in C: it is asked at each save


Parts: TypeAlias = Annotated[tuple[Part, ...], Field(exclude_if=_is_empty)]


class UserMessage(_Frozen):
    """What the agent is asked, or told about an answer that could not be used.

    Attributes:
        role: Tells the kinds of messages apart.
        text: The text.
        parts: Pictures, sounds and files beside it.
    """

    role: Literal["user"] = "user"
    text: Text
    parts: Parts = ()


class AssistantMessage(_Frozen):
    """What the model has answered.

    Attributes:
        role: Tells the kinds of messages apart.
        text: The text; may be empty beside calls.
        calls: Tools that it wants to be called. Without any, the text is its final answer.
        thinking: What the model has thought before, as far as the provider shows it; no part of the answer.
        provider: What only its provider can read.
    """

    role: Literal["assistant"] = "assistant"
    text: Text = ""
    calls: tuple[ToolCall, ...] = ()
    thinking: Annotated[Text, Field(exclude_if=_is_empty)] = ""
    provider: Annotated[tuple[ProviderContent, ...], Field(exclude_if=_is_empty, repr=False)] = ()


class ToolMessage(_Frozen):
    """What became of a tool call.

    Attributes:
        role: Tells the kinds of messages apart.
        call_id: The call that this answers.
        tool: Name of the tool.
        text: The result, as JSON unless it is a text; or what went wrong.
        is_error: Whether something went wrong.
        parts: Pictures, sounds and files of the result, beside the text.
    """

    role: Literal["tool"] = "tool"
    call_id: Text
    tool: Text
    text: Text
    is_error: bool = False
    parts: Parts = ()


ChatMessage: TypeAlias = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolMessage,
    Discriminator("role"),
]
"""Any of the messages."""


def asked_parts(messages: Iterable[ChatMessage]) -> Iterator[Part]:
    """All pictures, sounds and files of what is asked. The results of tools are left out."""
    for message in messages:
        if isinstance(message, UserMessage):
            yield from message.parts


class Usage(_Frozen):
    """Tokens that a model has counted.

    Attributes:
        input_tokens: Read.
        output_tokens: Written.
        cost: US dollars; None if nobody knows.
        cached_tokens: Those of the tokens read that came from the provider's cache.
        cache_writes: Those of the tokens read that were put into the provider's cache.
        reasoning_tokens: Those of the tokens written that are thinking.
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
    """All costs, if all are known. What has used nothing has cost nothing and is not among them."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None
