"""What a server tells, in words of our own: its tools, and what becomes of a call."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from pydantic_core import from_json, to_json

from .._models._model import JsonSchema


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as its server describes it.

    Attributes:
        name: Its name there.
        description: What it does.
        schema: JSON schema of its arguments.
        marked_idempotent: Whether the server says that calls may be repeated, or that they only read.
    """

    name: str
    description: str
    schema: JsonSchema
    marked_idempotent: bool


class RemoteResult(NamedTuple):
    """What a server has answered to a call.

    Attributes:
        text: The result as the model gets it.
        is_error: Whether the server calls it an error.
    """

    text: str
    is_error: bool


def join_content(texts: Sequence[str], structured: object) -> str:
    """One text of a result's parts. Structured content that the texts say already is not said twice.

    Args:
        texts: The parts, each as a text.
        structured: A JSON value, or None if there is none.
    """
    if structured is None or _says(texts, structured):
        return "\n".join(texts)
    return "\n".join([*texts, to_json(structured).decode()])


def _says(texts: Sequence[str], structured: object) -> bool:
    """Whether the texts hold a value: as JSON or as they are, each by itself or all as a list.

    Servers put a value that is no object under ``result``, since structured content was an object once.
    """
    values = [_value(text) for text in texts]
    said: list[object] = [*values, *texts, values, list(texts)]
    inner = structured["result"] if isinstance(structured, dict) and structured.keys() == {"result"} else structured
    return structured in said or inner in said


def _value(text: str) -> object:
    value: object = text
    with suppress(ValueError):
        value = from_json(text)
    return value
