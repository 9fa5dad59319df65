"""Who sends a request."""

from starlette.datastructures import Headers

from .._keys._caller import LOCAL, Caller
from .._keys._keyring import Keyring

_BEARER = "bearer "


class Identity:
    """Finds out who sends requests.

    Args:
        keys: The keys of the service; without any, whoever asks may do everything.
    """

    def __init__(self, keys: Keyring) -> None:
        self._keys = keys

    def caller(self, headers: Headers) -> Caller | None:
        """Whoever has the key of a request; None without a valid one."""
        if not self._keys:
            return LOCAL
        key = self._keys.find(secret_in(headers))
        return None if key is None else Caller(key.name, key.scopes)


def secret_in(headers: Headers) -> str | None:
    """The secret that a request was sent with."""
    given = headers.get("x-api-key")
    if given is None:
        authorization = headers.get("authorization", "")
        given = authorization[len(_BEARER) :] if authorization.lower().startswith(_BEARER) else None
    return None if given is None else given.strip()
