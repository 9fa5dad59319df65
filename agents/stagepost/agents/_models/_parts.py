"""Pictures, sounds and files in messages.

Their bytes are not part of a transcript: it has their digest, and the store has the bytes, once for each digest.
"""

import mimetypes
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, model_validator

LIMIT: Final = 20 * 1024 * 1024
"""How many bytes a part may have."""


class _Part(BaseModel):
    """What all parts have; see `Image`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    media_type: str | None = Field(default=None, exclude_if=lambda value: value is None)
    url: str | None = Field(default=None, exclude_if=lambda value: value is None)
    digest: str | None = Field(default=None, exclude_if=lambda value: value is None)
    name: str | None = Field(default=None, exclude_if=lambda value: value is None)
    data: bytes | None = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _with_digest(cls, values: Any) -> Any:
        if not isinstance(values, dict) or not isinstance(values.get("data"), bytes):
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
        return self

    @classmethod
    def from_file(cls, path: str | PathLike[str], *, media_type: str | None = None) -> Self:
        """Read a file.

        Args:
            path: Where it is.
            media_type: What is in it, such as ``"image/png"``; None to go by the ending of its name.

        Raises:
            OSError: It cannot be read.
            ValueError: Its name does not say what is in it, or it is too large.
        """
        file = Path(path)
        return cls(data=file.read_bytes(), media_type=media_type or mimetypes.guess_type(file.name)[0], name=file.name)

    def with_data(self, data: bytes) -> Self:
        """The same part with its bytes, as a model needs it."""
        return self.model_copy(update={"data": data})


class Image(_Part):
    """A picture: ``Image(data=…, media_type="image/png")``, ``Image(url="https://…")`` or ``Image.from_file("a.png")``.

    Attributes:
        kind: Tells the kinds of parts apart.
        media_type: What is in it, such as ``"image/png"``; None if only the server of the URL knows.
        url: Where the provider finds it; None if its bytes were given.
        digest: SHA-256 of the bytes in hexadecimal digits; None for a URL.
        name: Name of the file, if it has one.
        data: The bytes. They are not part of what is stored with the message, and None in a message of a result: the
            store has them under the digest.
    """

    kind: Literal["image"] = "image"


class Audio(_Part):
    """A sound; its attributes are those of `Image`."""

    kind: Literal["audio"] = "audio"


class File(_Part):
    """Any other file, such as a PDF; its attributes are those of `Image`."""

    kind: Literal["file"] = "file"


Part: TypeAlias = Annotated[Image | Audio | File, Discriminator("kind")]
"""Any of the parts."""
