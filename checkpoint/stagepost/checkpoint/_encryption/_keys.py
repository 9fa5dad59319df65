"""Encrypting values, and reading them with whichever of the keys they were encrypted by.

AES-GCM, with a random nonce for each value. What a value is enters as associated data, so that one that somebody puts
in the place of another kind is found out. A sealed value begins with a mark, then comes the id of its key, so that a
missing key is told from a value that was changed.

What a run starts with is compared as it is stored, for instance when its key is used again. So its nonce is made from
the value itself, and the same input of the same workflow is sealed alike.
"""

import hmac
import os
from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from .._encryption_errors import CannotDecrypt, EncryptionNotInstalled

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_MARK: Final = b"sealed1/"
_JSON_MARK: Final = b'"' + _MARK
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
        ValueError: There is none, or one is of another length.
        EncryptionNotInstalled: The extra ``encryption`` is not installed.
    """

    def __init__(self, keys: bytes | Sequence[bytes], *, plain: bool = False) -> None:
        given = [keys] if isinstance(keys, bytes) else list(keys)
        if not given or any(len(key) not in _LENGTHS for key in given):
            raise ValueError("keys=: give at least one key of 16, 24 or 32 bytes, such as secrets.token_bytes(32)")
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

    def seal_json(self, kind: bytes, data: bytes, *, alike: bool = False) -> bytes:
        """JSON as a sealed value that is JSON as well: a string."""
        return _JSON_MARK + b2a_base64(self.seal(kind, data, alike=alike), newline=False) + b'"'

    def open_json(self, kind: bytes, data: bytes) -> bytes:
        """The JSON that was sealed; raises as `open` does."""
        if not data.startswith(_JSON_MARK):
            return self.as_is(data)
        return self.open(kind, _decoded(data[len(_JSON_MARK) : -1]))

    def seal_text(self, kind: bytes, text: str) -> str:
        """A text as a sealed one."""
        return (_MARK + b2a_base64(self.seal(kind, text.encode()), newline=False)).decode()

    def open_text(self, kind: bytes, text: str) -> str:
        """The text that was sealed; raises as `open` does."""
        data = text.encode(errors="surrogateescape")
        if not data.startswith(_MARK):
            return self.as_is(data).decode(errors="surrogateescape")
        return self.open(kind, _decoded(data[len(_MARK) :])).decode()

    def as_is(self, data: bytes) -> bytes:
        """What is stored without being sealed.

        Raises:
            CannotDecrypt: That is not expected.
        """
        if not self._is_plain:
            raise CannotDecrypt(None, self.ids)
        return data


def _decoded(text: bytes) -> bytes:
    try:
        return a2b_base64(text)
    except Error as error:
        raise Changed from error


def _id(key: bytes) -> bytes:
    return sha256(b"stagepost key" + key).digest()[:_ID]


def _aead() -> "type[AESGCM]":
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise EncryptionNotInstalled from error
    return AESGCM
