"""What is judged: an answer, with what a judge needs to know about it."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue


class Candidate(BaseModel):
    """An answer that is to be judged.

    Attributes:
        text: The whole answer, as it is to be read.
        request_id: The request that is answered; None for the id of the run.
        question: What was asked.
        channel: The channel that it goes out by, such as ``sms``; None if that does not matter.
        data: What the answer is made from, as JSON; None if it is made from nothing but the question.
        parts: The messages that it goes out as, if it was split.
        written: The answer as it was written, before it was formatted for its channel; None if that is `text`.
        fields: Named parts that it must have, such as the subject of a mail.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    request_id: str | None = None
    question: str = ""
    channel: str | None = None
    data: JsonValue = None
    parts: tuple[str, ...] = ()
    written: str | None = None
    fields: Mapping[str, JsonValue] = {}


CodeCheck: TypeAlias = Callable[[Candidate], str | None]
"""Decides about a criterion in code: None if it is fulfilled, and otherwise what to change, in words."""
