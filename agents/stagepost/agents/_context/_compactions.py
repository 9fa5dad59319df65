"""Ways to leave out what was said earlier."""

from collections.abc import Sequence
from typing import Final

from stagepost._dataclasses import dataclass

from .._models._messages import AssistantMessage, ChatMessage, ToolMessage
from .._models._model import Model
from .._models._settings import ModelSettings
from ..errors import InvalidCompaction
from ._window import INSTRUCTIONS, Cut, SummaryBy, Window

_NO_SETTINGS: Final = ModelSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepLast:
    """Leaves out the oldest messages.

    Args:
        turns: How many of the model's last answers stay, each with what follows it; None for as many as fit.
        messages: How many of the last messages stay at most; None for as many as fit.

    Raises:
        InvalidCompaction: A number is below 1.
    """

    turns: int | None = None
    messages: int | None = None

    def __post_init__(self) -> None:
        check_number("KeepLast", "turns", self.turns, least=1)
        check_number("KeepLast", "messages", self.messages, least=1)

    def cut(self, window: Window) -> Cut:
        """All before those that stay."""
        return Cut(drop=range(_start(window, self.turns, self.messages)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearResults:
    """Replaces old results of tools by a sentence, from the oldest one on, until what is left fits.

    Args:
        keep: How many of the last results stay.
        longer_than: Only results with more characters than this are cleared.

    Raises:
        InvalidCompaction: A number is below 0.
    """

    keep: int = 5
    longer_than: int = 400

    def __post_init__(self) -> None:
        check_number("ClearResults", "keep", self.keep, least=0)
        check_number("ClearResults", "longer_than", self.longer_than, least=0)

    def cut(self, window: Window) -> Cut:
        """Old results, as many as it takes."""
        results = [index for index, message in enumerate(window.messages) if isinstance(message, ToolMessage)]
        old = results[: max(0, len(results) - self.keep)]
        left, cleared = sum(window.tokens), []
        for index in old:
            if window.fits(left, 0):
                break
            if len(window.messages[index].text) > self.longer_than:
                cleared.append(index)
                left -= window.tokens[index]
        return Cut(clear=cleared)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarize:
    """Leaves out the oldest messages, and has a model write a summary that stands in their place.

    The summary is a step of the run: it is asked for once, stored, and counted in usage, cost and budget. The next one
    is made of this one and of what is left out since.

    Args:
        keep_turns: How many of the model's last answers stay, each with what follows it; None for as many as fit.
        model: The model that writes it, or its name; None for the agent's own.
        instructions: Its prompt.
        settings: Settings for it. If it is the agent's own model, they override the agent's settings.

    Raises:
        InvalidCompaction: A number is below 1.
    """

    keep_turns: int | None = None
    model: Model | str | None = None
    instructions: str = INSTRUCTIONS
    settings: ModelSettings = _NO_SETTINGS

    def __post_init__(self) -> None:
        check_number("Summarize", "keep_turns", self.keep_turns, least=1)

    @property
    def summary(self) -> SummaryBy:
        """Who writes it."""
        return SummaryBy(model=self.model, instructions=self.instructions, settings=self.settings)

    def cut(self, window: Window) -> Cut:
        """All before those that stay."""
        return Cut(drop=range(_start(window, self.keep_turns, None)), summarize=True)


def check_number(kind: str, name: str, value: object, *, least: int) -> None:
    """Check an option of a compaction.

    Raises:
        InvalidCompaction: It is not a whole number of at least so much, or None.
    """
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
        raise InvalidCompaction(kind, f"{name}={value!r}: give a whole number of at least {least}")


def _start(window: Window, turns: int | None, most: int | None) -> int:
    """Index of the first message that stays."""
    if turns is None and most is None:
        return _fitting(window)
    start = 0 if turns is None else _turn_start(window.messages, turns)
    return start if most is None else max(start, len(window.messages) - most)


def _turn_start(messages: Sequence[ChatMessage], turns: int) -> int:
    answers = [index for index, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    return answers[-turns] if len(answers) >= turns else 0


def _fitting(window: Window) -> int:
    """Index of the first of the last messages that fit; a step of the model that does not fit whole goes whole.

    What stays anyway, at the beginning and at the end, is not counted apart: it is the policy's goal that has room.
    """
    tokens = 0
    for index in range(len(window.messages) - 1, -1, -1):
        tokens += window.tokens[index]
        if index < window.unread and not window.fits(tokens, len(window.messages) - index):
            return index + 1
    return 0
