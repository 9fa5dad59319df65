"""Conversations with agents."""

from typing import Literal

from ._output import Output


class Said(Output):
    """Something that was said."""

    role: Literal["user", "assistant"]
    """Who has said it."""
    text: str
    """What."""


class ConversationShown(Output):
    """A conversation with an agent."""

    conversation_id: str
    """The conversation."""
    agent: str
    """The agent."""
    said: list[Said]
    """The last texts that were said, the oldest first."""
    before: int
    """How many there are before these."""
    open: str | None
    """The run that still answers the last message; null if none does."""
