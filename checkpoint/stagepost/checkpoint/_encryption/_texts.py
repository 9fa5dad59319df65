"""Encrypting what an application keeps in tables of its own, which an `EncryptedStore` does not look into."""

from collections.abc import Sequence
from typing import Final

from ..errors import CorruptStore
from ._keys import Changed, Keys

_OWN: Final = b"application"  # what such texts are


class EncryptedTexts:
    """Encrypts texts for `Tables` of the application, by the same keys as an `EncryptedStore`.

    Args:
        keys: Of 16, 24 or 32 bytes each: the first encrypts, all of them decrypt.
        plain: Whether texts that are not encrypted are taken as they are.

    Raises:
        ValueError: There is no key, or one is of another length.
        EncryptionNotInstalled: The extra ``encryption`` is not installed.
    """

    def __init__(self, keys: bytes | Sequence[bytes], *, plain: bool = False) -> None:
        self._keys = Keys(keys, plain=plain)

    def seal(self, name: str, text: str) -> str:
        """A text encrypted.

        Args:
            name: What it is, such as its place: it can be opened by this name only.
            text: It.
        """
        return self._keys.seal_text(_OWN, text, owner=name.encode())

    def open(self, name: str, sealed: str) -> str:
        """A text as it was before it was encrypted.

        Raises:
            CannotDecrypt: Its key is not one of these, or it is not encrypted.
            CorruptStore: It was changed, or encrypted by another name.
        """
        try:
            return self._keys.open_text(_OWN, sealed, owner=name.encode())
        except Changed:
            raise CorruptStore(f"the encrypted text {name!r} is not what was written") from None
