"""Why something was refused, as it is told over HTTP."""

from pydantic import Field

from ._output import Output


class FieldRefused(Output):
    """Something that is wrong with a body or a query."""

    field: str
    """Which field, such as ``labels.customer``; empty for the whole."""
    message: str
    """What is wrong with it."""


class Refusal(Output):
    """Why something was refused."""

    type: str
    """The error's class."""
    message: str
    """What is wrong."""
    hint: str | None = None
    """What to do about it."""
    details: list[FieldRefused] = Field(default_factory=list)
    """Fields that do not fit."""
    reference: str | None = None
    """Of a failure that nobody expects: where the log has it."""


class ErrorTold(Output):
    """The answer to what was refused, or has failed."""

    error: Refusal
    """Why."""
