"""Who sends a request, and by what it is known."""

from enum import Enum, auto
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from stagepost._dataclasses import dataclass

from .._keys._caller import LOCAL, Caller
from .._keys._keyring import Keyring
from .._keys._logins import Logins

COOKIE: Final = "stagepost_login"
_BEARER: Final = "bearer "


class Proof(Enum):
    """By what it is known who asks."""

    KEY = auto()
    LOGIN = auto()
    LOCAL = auto()  # there are no keys, and only this machine is answered
    WRONG = auto()  # a key was given that is not known
    NONE = auto()


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks, and by what that is known.

    Attributes:
        caller: Who asks; None if that is not known.
        proof: By what it is known.
    """

    caller: Caller | None
    proof: Proof


class Identities:
    """Finds out who sends requests.

    Args:
        keys: The keys of the service; without any, whoever asks may do everything.
        logins: Those of people at pages.
    """

    def __init__(self, keys: Keyring, logins: Logins) -> None:
        self.keys = keys
        self._logins = logins

    def of(self, headers: Headers) -> Identity:
        """Who sends a request. A key in a header comes before a login."""
        if not self.keys:
            return Identity(LOCAL, Proof.LOCAL)
        secret, login = secret_in(headers), login_in(headers)
        key = self.keys.find(secret)
        if secret is not None:
            return Identity(None, Proof.WRONG) if key is None else Identity(Caller(key.name, key.scopes), Proof.KEY)
        key = None if login is None else self._logins.key(login)
        return Identity(None, Proof.NONE) if key is None else Identity(Caller(key.name, key.scopes), Proof.LOGIN)


def secret_in(headers: Headers) -> str | None:
    """The secret that a request was sent with."""
    given = headers.get("x-api-key")
    if given is None:
        authorization = headers.get("authorization", "")
        given = authorization[len(_BEARER) :] if authorization.lower().startswith(_BEARER) else None
    return None if given is None else given.strip()


def login_in(headers: Headers) -> str | None:
    """The login in the cookies of a request."""
    return cookie_parser(headers.get("cookie", "")).get(COOKIE)
