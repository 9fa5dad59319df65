"""How many tokens messages take: the provider's own count as far as there is one, and an estimate for the rest."""

from collections.abc import Iterable, Sequence
from typing import Final

from pydantic_core import to_json

from .._models._messages import AssistantMessage, ChatMessage, SystemMessage
from .._models._model import ToolSchema

BYTES: Final = 4  # of UTF-8 that a token takes, roughly

_MESSAGE: Final = 6  # tokens of what is around a message
_PART: Final = 1_000  # tokens of a picture or a file, roughly
_OFF: Final = 8.0  # how far the estimate may be off


def estimate(message: ChatMessage) -> int:
    """The tokens that a message takes, roughly."""
    tokens = _MESSAGE + _bytes(message.text) // BYTES
    if isinstance(message, AssistantMessage):
        return tokens + _of_answer(message) // BYTES
    if isinstance(message, SystemMessage) or not message.parts:
        return tokens
    return tokens + _PART * len(message.parts)


def estimate_tools(tools: Iterable[ToolSchema]) -> int:
    """The tokens that tools take, roughly."""
    return sum(len(tool.name) + len(tool.description) + len(to_json(tool.parameters)) for tool in tools) // BYTES


class Tally:
    """Counts what a model is asked, turn by turn: each message is looked at once.

    Attributes:
        estimates: The estimate for each message, without the prompt.
        beside: The estimate for the prompt and the tools.
    """

    __slots__ = ("_read", "_read_of", "_seen", "beside", "estimates")

    def __init__(self) -> None:
        self.estimates: list[int] = []
        self.beside = 0
        self._seen = 0
        self._read = 0
        self._read_of = 0

    def begin(self) -> None:
        """Count anew: the messages have changed. What was counted before still says how good the estimate is."""
        self.estimates.clear()
        self._seen = 0

    def take(self, messages: Sequence[ChatMessage]) -> None:
        """Count those that have come after the others."""
        more = [estimate(message) for message in messages[len(self.estimates) :]]
        self.estimates += more
        self._seen += sum(more)

    def counted(self, tokens: int, also: int = 0) -> None:
        """What the provider, or a tokenizer, has counted of all that there is now; 0 if nothing is known.

        Args:
            tokens: The count.
            also: The estimate for what was asked besides.
        """
        if tokens > 0:
            self._read, self._read_of = tokens, max(1, self.estimated + also)

    def counted_before(self, tokens: int, messages: int) -> None:
        """What the provider has counted of the first messages, with the prompt and the tools."""
        self._read, self._read_of = tokens, max(1, self.beside + sum(self.estimates[:messages]))

    @property
    def is_counted(self) -> bool:
        """Whether somebody has counted, so that it is known how good the estimate is."""
        return self._read > 0

    @property
    def ratio(self) -> float:
        """How many real tokens one of the estimate is."""
        return min(_OFF, max(1 / _OFF, self._read / self._read_of)) if self._read else 1.0

    @property
    def estimated(self) -> int:
        """The estimate for all that there is now."""
        return self.beside + self._seen

    @property
    def total(self) -> int:
        """Tokens of all that there is now."""
        return round(self.estimated * self.ratio)


def _of_answer(message: AssistantMessage) -> int:
    """Bytes of an answer beside its text."""
    count = sum(_bytes(call.name) + _bytes(call.arguments) for call in message.calls)
    return count + sum(len(to_json(content.data)) for content in message.provider)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
