"""Bytes beside a run's JSON: kept once for each content, under their SHA-256."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

SEALED: Final = b"\x00stagepost sealed\x01"  # begins bytes that are kept encrypted; their own checksum follows
_SUM: Final = 32


class Attachments(dict[str, bytes | None]):
    """Bytes that stored values refer to, by digest; None for those that the store has already.

    A pydantic type whose bytes are no part of its JSON finds one as the context of its serialization (`TypedCodec`
    gives it), and notes there what belongs to it::

        @field_serializer("digest")
        def _note(self, digest: str, info: FieldSerializationInfo) -> str:
            if isinstance(info.context, Attachments):
                info.context.note(digest, self.data)
            return digest
    """

    __slots__ = ()

    def add(self, data: bytes) -> str:
        """Note bytes; returns their digest."""
        digest = digest_of(data)
        self[digest] = data
        return digest

    def note(self, digest: str, data: bytes | None) -> None:
        """Note what a value refers to; bytes that are known already stay known."""
        if data is not None or digest not in self:
            self[digest] = data

    def with_more(self, blobs: Mapping[str, bytes | None]) -> "Attachments":
        """These and others; bytes count for more than that there are some."""
        more = Attachments(self)
        for digest, data in blobs.items():
            more.note(digest, data)
        return more


def digest_of(data: bytes) -> str:
    """SHA-256 in hexadecimal digits, by which bytes are kept."""
    return sha256(data).hexdigest()


def sealed(body: bytes) -> bytes:
    """Encrypted bytes as they are kept, with a checksum of their own: their digest is that of what they encrypt."""
    return SEALED + sha256(body).digest() + body


def unsealed(data: bytes) -> bytes | None:
    """The encrypted bytes; None if these are none."""
    return data[len(SEALED) + _SUM :] if data.startswith(SEALED) else None


def is_intact(data: bytes, digest: str) -> bool:
    """Whether bytes are what was stored, as far as this can be told without a key."""
    body = unsealed(data)
    if body is None:
        return digest_of(data) == digest
    return sealed(body) == data
