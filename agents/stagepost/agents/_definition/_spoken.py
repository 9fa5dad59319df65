"""Requests that are no model of fields: texts, and parts beside them."""

from collections.abc import Sequence
from os import PathLike
from typing import Final, TypeGuard

from .._models._messages import UserMessage
from .._models._parts import Audio, File, Image
from ..errors import InvalidRequest

_PARTS: Final = (Image, Audio, File)


def is_spoken(request: object) -> TypeGuard[str | Image | Audio | File | Sequence[object]]:
    """Whether a request is a text, a part, or a list of such, and not the fields of a model."""
    return isinstance(request, (str, list, tuple, *_PARTS))


def spoken(agent: str, request: str | Image | Audio | File | Sequence[object]) -> UserMessage:
    """A request as a message: its texts, one below the other, and its parts in their order.

    Raises:
        InvalidRequest: It holds something else, or nothing.
    """
    if isinstance(request, str):
        return UserMessage(text=request)
    values = [request] if isinstance(request, _PARTS) else request
    texts, parts = list[str](), list[Image | Audio | File]()
    for value in values:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, _PARTS):
            parts.append(value)
        else:
            raise InvalidRequest(
                agent, f"its request contains {_named(value)}: a list contains texts, Image, Audio and File"
            )
    if not texts and not parts:
        raise InvalidRequest(agent, "its request is an empty list: give a text, or texts and parts")
    return UserMessage(text="\n".join(texts), parts=tuple(parts))


def _named(value: object) -> str:
    """What somebody has given, and what may have been meant."""
    kind = type(value).__name__
    if isinstance(value, PathLike):
        return f"a path (for its file give Image.from_file({str(value)!r}), or that of Audio or File)"
    if isinstance(value, bytes | bytearray | memoryview):
        return f'{kind} (give Image(data=…, media_type="image/png"), or Audio or File)'
    return kind
