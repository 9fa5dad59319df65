"""Logins of people at pages: what a cookie holds, instead of the secret of their key."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from time import time
from typing import Final

from ._key import Key
from ._keyring import Keyring

_PARTS: Final = 3
_LONGEST: Final = 512


class Logins:
    """Makes and checks logins. One says whose it is and until when, and is signed.

    The signature covers the digest of the key: a login ends with its key, also when that gets another secret.

    Args:
        keys: The keys of the service.
        secret: Signs logins. With another secret, everybody has to log in again.
        lifetime: Seconds for which a login is valid.
        clock: Seconds since 1970.
    """

    def __init__(
        self, keys: Keyring, *, secret: bytes, lifetime: float = 12 * 3600.0, clock: Callable[[], float] = time
    ) -> None:
        self.lifetime = lifetime
        self._keys = keys
        self._secret = secret
        self._clock = clock
        self._ended: dict[str, float] = {}

    def begin(self, key: Key) -> str:
        """A login with a key."""
        expires = int(self._clock() + self.lifetime)
        name = urlsafe_b64encode(key.name.encode()).decode().rstrip("=")
        return f"{name}.{expires}.{self._signature(key, expires)}"

    def key(self, login: str) -> Key | None:
        """The key of a login that is valid; else None."""
        found = self._read(login)
        return None if found is None or login in self._ended else found[0]

    def end(self, login: str) -> None:
        """Let a login be valid no more, whoever has a copy of it; until the process ends, which ends most logins."""
        found, now = self._read(login), self._clock()
        if found is None:
            return
        self._ended = {each: expires for each, expires in self._ended.items() if expires > now}
        self._ended[login] = found[1]

    def _read(self, login: str) -> tuple[Key, int] | None:
        parts = login.split(".")
        if len(login) > _LONGEST or len(parts) != _PARTS or not login.isascii():
            return None
        name, expires, signature = parts
        key = self._keys.named(_decoded(name))
        if key is None or not expires.isdecimal() or int(expires) <= self._clock():
            return None
        is_ours = hmac.compare_digest(signature, self._signature(key, int(expires)))
        return (key, int(expires)) if is_ours else None

    def _signature(self, key: Key, expires: int) -> str:
        signed = f"stagepost login\n{key.name}\n{expires}\n{key.digest}"
        return hmac.new(self._secret, signed.encode(), sha256).hexdigest()


def _decoded(name: str) -> str:
    try:
        return urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode()
    except ValueError:
        return ""
