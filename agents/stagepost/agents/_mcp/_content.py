"""What a server has answered, as the model gets it: texts and parts once, and of structured content what is new.

Servers send most things twice: as content, for models, and as structured content, for programs. What stands in the
content is not said again; what stands only in the structured content is said as JSON. Bytes never become text.
"""

import re
from binascii import Error as Undecodable
from binascii import a2b_base64
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from pydantic_core import from_json, to_json

from .._models._parts import LIMIT, Audio, File, Image, Listing, is_media_type

Block: TypeAlias = str | Image | Audio | File
"""One piece of content."""

_LONG: Final = 200  # characters from which on a text that was said is not repeated beside what is new
_BINARY: Final = re.compile(r"[A-Za-z0-9+/_-]{1000,}={0,2}")  # a text without words of this length is bytes
_WORDS: Final = re.compile(r"[\w.+-]+")
_SEARCHES: Final = 200  # how many longer texts are looked for: each takes as long as the content is


def part_of(kind: str, data: str, media_type: str | None, name: str | None = None) -> Block:
    """A part of bytes as servers send them; what cannot be one is described.

    Args:
        kind: What the server calls it.
        data: The bytes in base64.
        media_type: What is in them.
        name: What they are called.
    """
    about = f"{kind}: {media_type or 'unknown'}"
    try:
        found = a2b_base64(data, strict_mode=True)
    except (Undecodable, ValueError):
        return f"[{about}, which cannot be decoded]"
    if len(found) > LIMIT:
        return f"[{about}, {len(found):,} bytes, which is more than the {LIMIT:,} that can be kept]"
    if not media_type or not is_media_type(media_type):
        media_type = "application/octet-stream"
    match media_type.partition("/")[0].lower():
        case "image" | "audio" if not found:
            return f"[{about}, which is empty]"
        case "image":
            return Image(data=found, media_type=media_type, name=name or None)
        case "audio":
            return Audio(data=found, media_type=media_type, name=name or None)
        case _:
            return File(data=found, media_type=media_type, name=name or None)


def composed(
    blocks: Sequence[Block], structured: object, beside: Sequence[str] = ()
) -> tuple[str, Sequence[Image | Audio | File]]:
    """The text of a result, with the names of its parts in their places, and its parts.

    Args:
        blocks: The content.
        structured: A JSON value, or None if there is none.
        beside: What else the content says, such as bytes in base64, types and addresses.
    """
    listing = Listing()
    texts = [block if isinstance(block, str) else listing.take(block) for block in blocks]
    said = _Said([block for block in blocks if isinstance(block, str)], beside)
    if structured is not None and not said.all_of(structured):
        texts.append(to_json(said.shortened(structured)).decode())
    return "\n".join(texts), listing.parts


class _Said:
    """What stands in the content of a result.

    Args:
        texts: Its texts.
        beside: What else it says.
    """

    def __init__(self, texts: Sequence[str], beside: Sequence[str]) -> None:
        self._text = "\n".join(texts)
        self._values = [value for text in texts for value in _value(text)]
        self._leaves = {*beside, *texts, *(leaf for value in self._values for leaf in _leaves(value))}
        self._words = {*_WORDS.findall(self._text), *(word.strip(".") for word in _WORDS.findall(self._text))}
        self._searches = 0

    def all_of(self, value: object) -> bool:
        """Whether each text, number and truth value in a value is said."""
        return value in self._values or all(map(self._has, _leaves(value)))

    def shortened(self, value: object) -> object:
        """A value without long texts that were said, and without bytes."""
        match value:
            case dict():
                return {key: self.shortened(inner) for key, inner in value.items()}
            case list():
                return [self.shortened(inner) for inner in value]
            case str() if len(value) >= _LONG and self._has(value):
                return "[as above]"
            case str() if _BINARY.fullmatch(value):
                return f"[{len(value) * 3 // 4:,} bytes, not shown]"
            case _:
                return value

    def _has(self, leaf: str) -> bool:
        if leaf in self._leaves or leaf in self._words or not leaf.strip():
            return True
        if _WORDS.fullmatch(leaf) or self._searches >= _SEARCHES:
            return False
        self._searches += 1
        return leaf in self._text


def _leaves(value: object) -> Iterator[str]:
    """Texts as they are, all other single values as JSON. Nothing is no value."""
    match value:
        case dict():
            for inner in value.values():
                yield from _leaves(inner)
        case list():
            for inner in value:
                yield from _leaves(inner)
        case str():
            yield value
        case None:
            return
        case _:
            yield to_json(value).decode()


def _value(text: str) -> Iterator[object]:
    """The value that a text is the JSON of, if it is one."""
    with suppress(ValueError):
        yield from_json(text)
