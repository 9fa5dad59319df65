"""A part of a long text: its beginning and its end, and the tool that reads on."""

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .._models._messages import ChatMessage, ToolMessage
from .._models._model import ToolSchema
from .._tools._returned import ToolResult
from .._validation import problems

READ_RESULT: Final = "read_result"

_TAIL: Final = 4  # one part in so many is the end
_NOTE: Final = 200  # characters that the sentences about what is missing may take
_ABOUT: Final = (
    "Read on in the result of an earlier tool call of which only a part is shown, or none. The text in place of the "
    "missing part says the number of the result and the offset."
)


class Place(BaseModel):
    """The arguments of a call of ``read_result``."""

    model_config = ConfigDict(extra="forbid")

    result: int = Field(ge=0, description="Number of the result.")
    offset: int = Field(default=0, ge=0, description="How many characters of it to skip.")


READ_RESULT_SCHEMA: Final = ToolSchema(
    READ_RESULT,
    _ABOUT,
    {
        "type": "object",
        "properties": {
            "result": {"type": "integer", "description": "Number of the result."},
            "offset": {"type": "integer", "description": "How many characters of it to skip. By default 0."},
        },
        "required": ["result"],
        "additionalProperties": False,
    },
)
"""The tool, as the model sees it."""


def excerpt(text: str, limit: int, place: int | None) -> str:
    """A text of at most `limit` characters, with a sentence for what is missing.

    Args:
        text: The text.
        limit: How many characters may be shown; 0 for none but the sentence.
        place: Number of the result; None for what is no result and cannot be read on.
    """
    if len(text) <= max(limit, _NOTE):
        return text
    whole = f"{len(text):,}"
    if limit <= _NOTE:
        return f"[This text of {whole} characters is no longer shown{_reads(place, 0)}.]"
    tail = (limit - _NOTE) // _TAIL
    head = limit - _NOTE - tail
    gap = f"[… {len(text) - head - tail:,} of {whole} characters are missing here{_reads(place, head)} …]"
    return f"{text[:head]}\n{gap}\n{text[len(text) - tail :]}"


def read_result(messages: Sequence[ChatMessage], arguments: str, limit: int) -> ToolResult:
    """What a call of ``read_result`` reads.

    Args:
        messages: The transcript.
        arguments: Those of the call.
        limit: How many characters a result may have.
    """
    try:
        place = Place.model_validate_json(arguments or "{}")
    except ValidationError as error:
        return ToolResult(f"the arguments do not fit, nothing was read: {problems(error)}", is_error=True)
    found = messages[place.result] if place.result < len(messages) else None
    if not isinstance(found, ToolMessage):
        return ToolResult(
            f"there is no result {place.result}: give the number that stands beside the gap", is_error=True
        )
    return _piece(found, place, limit)


def _piece(found: ToolMessage, place: Place, limit: int) -> ToolResult:
    whole = len(found.text)
    if place.offset >= whole:
        why = f"result {place.result} has {whole:,} characters, and none from {place.offset:,} on"
        return ToolResult(why, is_error=True)
    stop = min(place.offset + limit - _NOTE, whole)
    more = "; that is its end" if stop == whole else _reads(place.result, stop)
    told = f"[Characters {place.offset:,} to {stop:,} of {whole:,} of result {place.result}{more}.]"
    return ToolResult(f"{told}\n{found.text[place.offset : stop]}")


def _reads(place: int | None, offset: int) -> str:
    """How to read what is missing."""
    if place is None:
        return ""
    at = f", offset={offset}" if offset else ""
    return f"; {READ_RESULT}(result={place}{at}) reads {'on' if offset else 'it'}"
