"""What a server tells, in words of our own: its tools, and what becomes of a call."""

from collections.abc import Sequence
from typing import NamedTuple

from stagepost._dataclasses import dataclass

from .._models._model import JsonSchema
from .._models._parts import Audio, File, Image


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
        parts: Pictures, sounds and files.
    """

    text: str
    is_error: bool
    parts: Sequence[Image | Audio | File] = ()
