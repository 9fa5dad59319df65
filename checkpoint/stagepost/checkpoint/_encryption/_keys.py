"""Encrypting values, and reading them with whichever of the keys they were encrypted by.

AES-GCM, with a random nonce for each value. What a value is and whose it is enter as associated data, so that one that
somebody puts in the place of another kind, or of another run, is found out. A sealed value begins with a mark, then
comes the id of its key, so that a missing key is told from a value that was changed. Values with the first mark are
older, or are compared: these are bound to their kind only.

What a run starts with is compared as it is stored, for instance when its key is used again. So its nonce is made from
the value itself, and the same input of the same workflow is sealed alike.
"""

import hmac
import os
from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from .._encryption_errors import CannotDecrypt, EncryptionNotInstalled

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_OLD: Final = b"sealed1/"
_MARK: Final = b"sealed2/"
_ID: Final = 4  # bytes of a key's id
_NONCE: Final = 12
_LENGTHS: Final = (16, 24, 32)


class Changed(Exception):
    """A sealed value is not what was sealed, or is one of another kind."""


class Keys:
    """The keys of an application: the first one seals, all of them open.

    Args:
        keys: Each of 16, 24 or 32 bytes.
        plain: Whether values that are not sealed are taken as they are.

    Raises:
        TypeError: One is no bytes.
        ValueError: There is none, or one is of another length.
        EncryptionNotInstalled: The extra ``encryption`` is not installed.
    """

    def __init__(self, keys: bytes | Sequence[bytes], *, plain: bool = False) -> None:
        given = _given(keys)
        aead = _aead()
        self._by_id = {_id(key): aead(key) for key in given}
        self._first, self._seal = next(iter(self._by_id.items()))
        self._nonces = sha256(b"stagepost nonces" + given[0]).digest()
        self._is_plain = plain

    def seal(self, kind: bytes, data: bytes, *, alike: bool = False) -> bytes:
        """A value encrypted.

        Args:
            kind: What it is.
            data: It.
            alike: Whether the same value shall be sealed alike each time.
        """
        nonce = os.urandom(_NONCE)
        if alike:
            nonce = hmac.digest(self._nonces, kind + b"\0" + data, "sha256")[:_NONCE]
        return self._first + nonce + self._seal.encrypt(nonce, data, kind)

    def open(self, kind: bytes, body: bytes) -> bytes:
        """A value as it was before it was sealed.

        Raises:
            CannotDecrypt: Its key is not one of these.
            Changed: It is not what was sealed, or is something else.
        """
        key = self._by_id.get(body[:_ID])
        if key is None:
            raise CannotDecrypt(body[:_ID].hex(), self.ids)
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415  # an extra

        try:
            return key.decrypt(body[_ID : _ID + _NONCE], body[_ID + _NONCE :], kind)
        except (InvalidTag, ValueError) as error:
            raise Changed from error

    @property
    def ids(self) -> tuple[str, ...]:
        """What the keys are called in errors."""
        return tuple(each.hex() for each in self._by_id)

    def seal_json(self, kind: bytes, data: bytes, *, owner: bytes) -> bytes:
        """JSON as a sealed value that is JSON as well: a string."""
        return b'"' + _MARK + _encoded(self.seal(_bound(kind, owner), data)) + b'"'

    def seal_alike(self, kind: bytes, data: bytes) -> bytes:
        """The same JSON alike each time, whoever has it."""
        return b'"' + _OLD + _encoded(self.seal(kind, data, alike=True)) + b'"'

    def open_json(self, kind: bytes, data: bytes, *, owner: bytes) -> bytes:
        """The JSON that was sealed; raises as `open` does."""
        if not data.startswith(b'"'):
            return self.as_is(data)
        return self._opened(kind, data, data[1:-1], owner)

    def seal_text(self, kind: bytes, text: str, *, owner: bytes) -> str:
        """A text as a sealed one."""
        return (_MARK + _encoded(self.seal(_bound(kind, owner), text.encode()))).decode()

    def open_text(self, kind: bytes, text: str, *, owner: bytes) -> str:
        """The text that was sealed; raises as `open` does."""
        data = text.encode(errors="surrogateescape")
        return self._opened(kind, data, data, owner).decode(errors="surrogateescape")

    def _opened(self, kind: bytes, data: bytes, text: bytes, owner: bytes) -> bytes:
        """What was sealed as a text, with whichever mark; without one as it is."""
        if text.startswith(_MARK):
            return self.open(_bound(kind, owner), _decoded(text[len(_MARK) :]))
        if text.startswith(_OLD):
            return self.open(kind, _decoded(text[len(_OLD) :]))
        return self.as_is(data)

    def as_is(self, data: bytes) -> bytes:
        """What is stored without being sealed.

        Raises:
            CannotDecrypt: That is not expected.
        """
        if not self._is_plain:
            raise CannotDecrypt(None, self.ids)
        return data


def _bound(kind: bytes, owner: bytes) -> bytes:
    return kind + b"\0" + owner


def _encoded(body: bytes) -> bytes:
    return b2a_base64(body, newline=False)


def _decoded(text: bytes) -> bytes:
    try:
        return a2b_base64(text)
    except Error as error:
        raise Changed from error


def _given(keys: object) -> list[bytes]:
    """The keys that somebody gives; what bytes can be made of is taken as they."""
    whole = isinstance(keys, bytes | bytearray | memoryview)
    given = [keys] if whole else list(keys) if isinstance(keys, Iterable) else [keys]
    for key in given:
        if not isinstance(key, bytes | bytearray | memoryview):  # nothing of it is shown
            raise TypeError(
                f"keys=: {type(key).__name__} is no key: give bytes, such as secrets.token_bytes(32), or a list of them"
            )
    found = [bytes(key) for key in given if isinstance(key, bytes | bytearray | memoryview)]
    if not found or any(len(key) not in _LENGTHS for key in found):
        raise ValueError("keys=: give at least one key of 16, 24 or 32 bytes, such as secrets.token_bytes(32)")
    return found


def _id(key: bytes) -> bytes:
    return sha256(b"stagepost key" + key).digest()[:_ID]


def _aead() -> "type[AESGCM]":
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise EncryptionNotInstalled from error
    return AESGCM
