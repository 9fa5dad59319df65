"""What only the command writes."""

from typing import Any

from ._output import Output


class CommandFailed(Output):
    """Why a command could not do what it was asked for; on standard error."""

    code: int
    """The exit code."""
    kind: str
    """The error's class."""
    message: str
    """What is wrong, and what to do."""


class ChatEvent(Output):
    """A line of ``chat --json``: a part of the answer's stream."""

    part: dict[str, Any]
    """As `StreamPart.to_dict` gives it."""
