"""Images as rules look at them: by the bytes that they begin with."""

from base64 import b64decode
from binascii import Error
from typing import Final

PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""One pixel, in base64."""

PDF: Final = "JVBERi0xLjQKJSVFT0YK"
"""A file that begins as a PDF does, in base64."""

_MAGIC: Final = {b"\x89PNG\r\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


def kind(data: str) -> str | None:
    """The media type of an image in base64, by its first bytes; None if it is no image, or no base64."""
    try:
        raw = b64decode(data, validate=True)
    except (Error, ValueError):
        return None
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    return next((name for magic, name in _MAGIC.items() if raw.startswith(magic)), None)
