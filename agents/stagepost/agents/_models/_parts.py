"""Pictures, sounds and files in messages.

Their bytes are not part of a transcript: it has their digest, and the store has the bytes once for each digest.
"""

import mimetypes
import re
from base64 import b64decode
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias
from urllib.parse import unquote_to_bytes

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from stagepost.checkpoint import Attachments

LIMIT: Final = 20 * 1024 * 1024
"""How many bytes a part may have."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_MEDIA_TYPE: Final = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(\s*;.*)?", re.ASCII)


class Listing:
    """Takes the parts out of a value that is made JSON with it as the context: their names stand in their places.

    Args:
        replaces: Whether their names do; otherwise the parts are only listed.

    Attributes:
        parts: The parts, each once, in the order in which they were found.
    """

    def __init__(self, *, replaces: bool = True) -> None:
        self.replaces = replaces
        self.parts: list[Part] = []

    def take(self, part: "Part") -> str:
        """The name of a part."""
        if part not in self.parts:
            self.parts.append(part)
        return f"[{part.kind} {self.parts.index(part) + 1}{f': {part.name}' if part.name else ''}]"


class _Part(BaseModel):
    """What all parts have; see `Image`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    _example: ClassVar[str] = "application/pdf"

    media_type: str | None = Field(default=None, exclude_if=lambda value: value is None)
    url: str | None = Field(default=None, exclude_if=lambda value: value is None)
    digest: str | None = Field(default=None, exclude_if=lambda value: value is None)
    name: str | None = Field(default=None, exclude_if=lambda value: value is None)
    data: bytes | None = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _with_digest(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        if isinstance(url := values.get("url"), str) and url.startswith("data:"):
            values = {**values, **_unpacked(url, values.get("media_type")), "url": None}
        if not isinstance(values.get("data"), bytes):
            return values
        return {**values, "digest": sha256(values["data"]).hexdigest()}

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        kind = type(self).__name__
        if (self.url is None) == (self.digest is None):
            raise ValueError(f"give {kind} either data= (bytes) or url=")
        if self.data is not None and len(self.data) > LIMIT:
            raise ValueError(f"{kind} has {len(self.data):,} bytes: {LIMIT:,} are the limit; give its url= instead")
        if self.url is None and not self.media_type:
            raise ValueError(f'give {kind} its media_type= beside the bytes, such as "image/png"')
        problem = self._problem()
        if problem is not None:
            raise ValueError(problem)
        return self

    def _problem(self) -> str | None:
        """Why no model could take it, whichever it is."""
        kind, is_file = type(self).__name__, self._example.startswith("application")
        if self.data == b"" and not is_file:
            return f"{kind} has no bytes: give those of the file"
        if self.media_type is not None and not is_media_type(self.media_type, "" if is_file else self._example):
            return f'media_type={self.media_type!r} of {kind} is none: give one such as "{self._example}"'
        if self.url is not None and (self.url.startswith("file:") or not (is_file or "://" in self.url)):
            address = 'give one such as "https://…", or the bytes'
            return f"url={self.url!r:.80} of {kind} is not an address: {address}, as {kind}.from_file(…) does"
        if self.digest is not None and _DIGEST.fullmatch(self.digest) is None:
            return f"digest={self.digest!r:.80} of {kind} is none: give the 64 hexadecimal digits of a message's part"
        return None

    @model_serializer(mode="wrap")
    def _told(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> Any:
        if isinstance(info.context, Attachments) and self.digest is not None:
            info.context.note(self.digest, self.data)
        if isinstance(info.context, Listing):
            name = info.context.take(self)  # type: ignore[arg-type]  # there are no others
            if info.context.replaces:
                return name
        return handler(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Part) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        """All but the bytes, which their digest stands for, whether they are here or not."""
        return (type(self), self.media_type, self.url, self.digest, self.name)

    @classmethod
    def from_file(cls, path: str | PathLike[str], *, media_type: str | None = None) -> Self:
        """Read a file.

        Args:
            path: Where it is.
            media_type: Its media type, such as ``"image/png"``; None to guess it from the file name.

        Raises:
            OSError: It cannot be read.
            ValueError: Its name does not tell the media type, or it is too large.
        """
        file = Path(path)
        return cls(data=file.read_bytes(), media_type=media_type or mimetypes.guess_type(file.name)[0], name=file.name)

    def with_data(self, data: bytes) -> Self:
        """The same part with its bytes, as a model needs it."""
        return self.model_copy(update={"data": data})


class Image(_Part):
    """A picture: ``Image(data=…, media_type="image/png")``, ``Image(url="https://…")`` or ``Image.from_file("a.png")``.

    Attributes:
        kind: The kind of part.
        media_type: Its media type, such as ``"image/png"``; None if only the server of the URL knows.
        url: Its URL for the provider; None if its bytes were given.
        digest: SHA-256 of the bytes in hexadecimal digits; None for a URL.
        name: Name of the file, if it has one.
        data: The bytes. They are not stored with the message, and None in messages of a stored run: the store has them
            under the digest.
    """

    _example: ClassVar[str] = "image/png"
    kind: Literal["image"] = "image"


class Audio(_Part):
    """A sound; its attributes are those of `Image`."""

    _example: ClassVar[str] = "audio/wav"
    kind: Literal["audio"] = "audio"


class File(_Part):
    """Any other file, such as a PDF; its attributes are those of `Image`."""

    kind: Literal["file"] = "file"


Part: TypeAlias = Annotated[Image | Audio | File, Discriminator("kind")]
"""Any of the parts."""


def is_media_type(text: str, like: str = "") -> bool:
    """Whether a text is a media type, and of the same kind as another one if that is given."""
    kind = like.partition("/")[0]
    return _MEDIA_TYPE.fullmatch(text) is not None and text.lower().startswith(kind)


def _unpacked(url: str, media_type: object) -> dict[str, object]:
    """The bytes in a ``data:`` URL: they are no address, and would stand in each message as text."""
    head, comma, text = url.removeprefix("data:").partition(",")
    given, _, encoding = head.rpartition(";") if head.endswith(";base64") else (head, "", "")
    try:
        data = b64decode(unquote_to_bytes(text), validate=True) if encoding else unquote_to_bytes(text)
    except ValueError:
        comma = ""
    if not comma:
        raise ValueError("its url= is not a valid data: URL: give data= (bytes) and media_type=")
    return {"data": data, "media_type": media_type or given.partition(";")[0] or "text/plain"}
