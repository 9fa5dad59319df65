"""Messages to a running task: signals that its model gets before its next turn."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from stagepost.workflows import StepContext

from .._models._messages import UserMessage

MESSAGE: Final = "message"  # the signal


class News(NamedTuple):
    """Messages that were sent to the running task.

    Attributes:
        messages: The messages.
        heard: Number of the last message so far; 0 if there was none.
    """

    messages: Sequence[UserMessage]
    heard: int


NO_NEWS: Final = News((), 0)


async def news_of(context: StepContext, heard: int) -> News:
    """The messages after the one with a number."""
    signals = await context.signals(MESSAGE, after=heard)
    if not signals:
        return News((), heard)
    return News([UserMessage(text=signal.value) for signal in signals], signals[-1].number)
