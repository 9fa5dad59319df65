"""Finding keys by their secrets, in a time that tells nothing."""

from collections.abc import Iterable
from hmac import compare_digest
from typing import Final

from ._key import Key, checked_keys, digest_of

_NOBODY: Final = ""  # looked for in the place of a secret that was not given
_LONGEST: Final = 1024


class Keyring:
    """All keys of a service.

    Args:
        keys: They.

    Raises:
        InvalidKey: Two have one name.
    """

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._keys = checked_keys(keys)
        self._by_name = {key.name: key for key in self._keys}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def find(self, secret: str | None) -> Key | None:
        """The key with a secret.

        Every key is compared, and each comparison takes the same time, whatever was given; nothing given, too, is
        looked for. So how long it takes tells neither whether a key is near nor which one it is.
        """
        given = digest_of(_NOBODY if secret is None else secret[:_LONGEST])
        found = None
        for key in self._keys:
            if compare_digest(key.digest, given):
                found = key
        return None if secret is None else found

    def named(self, name: str) -> Key | None:
        """The key with a name."""
        return self._by_name.get(name)
