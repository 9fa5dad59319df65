"""Results of tools for the model: a text, and parts."""

from collections.abc import Sequence
from types import NoneType
from typing import Final, NamedTuple

from pydantic_core import from_json, to_json, to_jsonable_python

from stagepost.checkpoint import PLAIN, CannotStore, codec_for

from .._models._parts import Audio, File, Image, Listing, Part
from ._tool import Tool

_RESULTS: Final = codec_for(object)  # any value, by what it is
_COMMON: Final = frozenset({int, bool, NoneType})  # have one form, so that it need not be read back to be sure
_PARTS: Final = (Image, Audio, File)


class Json(str):
    """The text of a result that is JSON: models read it, and programs get its values."""

    __slots__ = ()


def as_json(text: str) -> str:
    """A text of somebody who only gives texts: marked as JSON if it is an object or a list of it."""
    if not text.startswith(("{", "[")):
        return text
    try:
        from_json(text)
    except ValueError:
        return text
    return Json(text)


class ToolResult(NamedTuple):
    """The result of a tool call for the model.

    A tool may return one to control the text, or to return parts.

    Attributes:
        text: The result, or what went wrong.
        is_error: Whether something went wrong.
        parts: Pictures, sounds and files.
    """

    text: str
    is_error: bool = False
    parts: Sequence[Part] = ()


def as_result(tool: Tool[..., object], returned: object) -> ToolResult:
    """The result for the model from a tool's return value.

    A text is passed on as it is, everything else as JSON. Parts at any depth are taken out of the text, which has their
    names in their places; a list of texts and parts becomes a text.

    Raises:
        CannotStore: It has no JSON form, or a part has neither bytes nor a URL.
    """
    if isinstance(returned, str):
        return ToolResult(returned)
    if type(returned) in _COMMON:
        return ToolResult(Json(PLAIN.dump(returned, _where(tool)).decode()))
    if isinstance(returned, ToolResult):
        return _checked(tool, returned)
    listing = Listing()
    values = [returned] if isinstance(returned, _PARTS) else _listed(returned)
    if values:
        text = "\n".join(value if isinstance(value, str) else listing.take(value) for value in values)
    else:
        text = Json(_as_json(tool, returned, listing))
    return _checked(tool, ToolResult(text, parts=tuple(listing.parts)))


def _as_json(tool: Tool[..., object], returned: object, listing: Listing) -> str:
    """JSON, with the names of parts in their places."""
    seen = Listing(replaces=False)
    data = _RESULTS.dump(returned, _where(tool), seen)
    if not seen.parts:
        return data.decode()
    return to_json(to_jsonable_python(returned, context=listing)).decode()


def _listed(returned: object) -> Sequence[str | Part]:
    """What a list of texts and parts holds; nothing, if it is something else, or a list of texts alone."""
    if not isinstance(returned, list | tuple) or not any(isinstance(value, _PARTS) for value in returned):
        return ()
    return returned if all(isinstance(value, (str, *_PARTS)) for value in returned) else ()


def _checked(tool: Tool[..., object], result: ToolResult) -> ToolResult:
    """A result that can be told.

    Raises:
        CannotStore: It cannot.
    """
    text: object = result.text  # whatever the tool has put there
    parts: object = result.parts
    if not isinstance(text, str) or not isinstance(parts, list | tuple):
        raise CannotStore(_where(tool), "it is a ToolResult of something else than a text and a list of parts")
    for part in parts:
        if not isinstance(part, _PARTS):
            why = f"its parts contain {type(part).__name__}: they may be Image, Audio and File"
            raise CannotStore(_where(tool), why)
        if part.data is None and part.url is None:
            raise CannotStore(_where(tool), f"it has {type(part).__name__} without its bytes: give data=, or url=")
    if result.text or not result.parts:
        return result
    listing = Listing()
    return result._replace(text="\n".join(map(listing.take, result.parts)))


def _where(tool: Tool[..., object]) -> str:
    return f"the result of {tool.name!r}"
