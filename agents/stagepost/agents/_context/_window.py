"""What a compaction is shown, and what it says."""

from collections.abc import Collection, Sequence
from typing import Final, Protocol

from stagepost._dataclasses import dataclass

from .._models._messages import ChatMessage
from .._models._model import Model
from .._models._settings import ModelSettings

INSTRUCTIONS: Final = (
    "You are given the earlier part of a conversation between a user and an assistant who calls tools. The assistant "
    "will go on without seeing it, with your summary in its place. Write down all that it needs for that: what was "
    "asked and agreed, what was done with which result, facts, names, numbers and identifiers exactly as they stand "
    "there, what went wrong, and what is still open. Answer with the summary alone."
)


@dataclass(frozen=True, slots=True)
class Window:
    """What a compaction is to make smaller: the messages that the model would see now, and how small they are to be.

    Attributes:
        messages: The messages, without the prompt. The first is the first request, unless a custom compaction is tested
            with others. Results are as the model sees them.
        tokens: How many tokens each of them takes, estimated.
        beside: Tokens of the prompt, the tools, and the note or summary that stands for earlier messages.
        most_tokens: How many tokens are to be left, with those beside; None if that does not matter.
        most_messages: How many messages are to be left; None if that does not matter.
        unread: Index of the first message that the model has not answered yet, or whose call it has made; what stands
            from there on always stays.
    """

    messages: Sequence[ChatMessage]
    tokens: Sequence[int]
    beside: int = 0
    most_tokens: int | None = None
    most_messages: int | None = None
    unread: int = 0

    @property
    def total(self) -> int:
        """Tokens of all that the model would see."""
        return self.beside + sum(self.tokens)

    def fits(self, tokens: int, messages: int) -> bool:
        """Whether so many tokens (without those beside) and messages may be left."""
        if self.most_tokens is not None and self.beside + tokens > self.most_tokens:
            return False
        return self.most_messages is None or messages <= self.most_messages


@dataclass(frozen=True, slots=True)
class Cut:
    """What a compaction wants to be left out. Indices are those of `Window.messages`.

    What may not be left out stays, whatever this says: see `Compaction`.

    Attributes:
        drop: Messages that the model is no longer to see. An answer goes with all results of its calls; a result alone
            is cleared.
        clear: Results of tools that are to be replaced by a sentence.
        summarize: Whether a model writes a summary of what is dropped, which then stands in its place.
    """

    drop: Collection[int] = ()
    clear: Collection[int] = ()
    summarize: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryBy:
    """Who writes summaries, and how.

    Attributes:
        model: The model, or its name; None for the agent's own.
        instructions: Its prompt.
        settings: Settings for it. If it is the agent's own model, they override the agent's settings.
    """

    model: Model | str | None = None
    instructions: str = INSTRUCTIONS
    settings: ModelSettings = ModelSettings()


class Compaction(Protocol):
    """Says what a model no longer has to see: `KeepLast`, `ClearResults`, `Summarize`, or your own.

    Whatever it says, these stay: the prompt; the first request, and the request that the run is to answer; calls
    without a result; the model's last calls with their results, and all that it has not answered yet. An answer and the
    results of its calls stay or go together, and what belongs to the provider goes with its answer. Stored messages are
    never changed.

    It may have an attribute ``summary``, a `SummaryBy`, that says who writes its summaries.
    """

    def cut(self, window: Window) -> Cut:
        """What to leave out. Not async, and quick: it is called in the event loop, each time that there is too much.

        It must depend on nothing but the window, since a crash may have it called again.
        """
        ...


def summary_by(compaction: object) -> SummaryBy:
    """Who writes the summaries of a compaction."""
    by = getattr(compaction, "summary", None)
    return by if isinstance(by, SummaryBy) else SummaryBy()
