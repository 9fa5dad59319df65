"""What is sent: a part as JSON, with the headers that name and sign it."""

import hashlib
from base64 import b32encode
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from pydantic_core import to_json

from ._signing import signed

_LONGEST: Final = 255  # characters of a key


class PartLike(Protocol):
    """A part of a task's stream."""

    @property
    def cursor(self) -> str | None:
        """Where to go on after it; None if it has no number."""
        ...

    @property
    def idempotency_key(self) -> str:
        """The task's id and the part's identity, as printable ASCII: the same whenever the part is read."""
        ...

    def to_dict(self) -> Mapping[str, object]:
        """It as JSON has it."""
        ...


class Letter(NamedTuple):
    """A part that is to be delivered.

    Attributes:
        key: The idempotency key: the same whenever the part is sent.
        cursor: Where to go on after it.
        body: JSON.
    """

    key: str
    cursor: str
    body: bytes


def letter_of(part: PartLike) -> Letter | None:
    """What is sent of a part; None if it has no number, so that nobody could ask for it again."""
    if part.cursor is None:
        return None
    return Letter(_fitting(part.idempotency_key), part.cursor, to_json(part.to_dict()))


def headers_of(letter: Letter, keys: Sequence[bytes], now: float) -> Mapping[str, str]:
    """The headers of an attempt.

    Args:
        letter: What is sent.
        keys: What to sign with.
        now: Seconds since 1970.
    """
    return {
        "content-type": "application/json",
        "idempotency-key": letter.key,
        **signed(keys, _message_id(letter.key), int(now), letter.body),
    }


def _fitting(key: str) -> str:
    """A key as a header of usual length; a long one, as ids of calls may make it, ends with a digest."""
    if len(key) <= _LONGEST:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()
    return f"{key[: _LONGEST - len(digest) - 1]}~{digest}"


def _message_id(key: str) -> str:
    """A digest: the standard wants no points in it, which run ids have, and nothing that users choose."""
    return "msg_" + b32encode(hashlib.sha256(key.encode()).digest()[:20]).decode().lower()
