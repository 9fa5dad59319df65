"""Keys, as they are stored: a name, what it may do, and the digest of a secret that is stored nowhere."""

import re
from collections.abc import Collection, Iterable
from enum import StrEnum
from hashlib import sha256
from secrets import token_urlsafe
from typing import Final, Self

from stagepost._dataclasses import dataclass

from ..errors import InvalidKey

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_PREFIX: Final = "sp_"  # by which scanners for leaked secrets, and people, know one
_SHORTEST: Final = 8
_LONGEST: Final = 512


class Scope(StrEnum):
    """What a key may do. Each stands for itself; `ADMIN` has all of them."""

    READ = "read"
    RUN = "run"
    DECIDE = "decide"
    ADMIN = "admin"


ALL: Final = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the service. Its secret is not in it, only the secret's digest.

    Its text form is one line, ``name:scopes:digest``, such as ``ops:read,decide:9f86d0…``.

    Attributes:
        name: Who has it; answers and decisions are stored with it.
        digest: The SHA-256 of its secret, in hexadecimal. Secrets of `new_key` have 256 random bits, which nobody
            guesses; a secret of your own (`of`) has to be as hard to guess.
        scopes: What it may do.

    Raises:
        InvalidKey: The name, the digest or the scopes have not the form of one.
    """

    name: str
    digest: str
    scopes: frozenset[Scope]

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidKey(
                f"{self.name!r:.80} is no name of a key: use up to 64 letters, digits and . _ @ -, with a letter or a "
                "digit first"
            )
        if not _DIGEST.fullmatch(self.digest):
            raise InvalidKey(f"the key {self.name!r} has no SHA-256 digest: make one with `stagepost keys new`")
        if not self.scopes:
            raise InvalidKey(f"the key {self.name!r} has no scope: give at least one of {', '.join(Scope)}")

    def __str__(self) -> str:
        return f"{self.name}:{','.join(scope for scope in Scope if scope in self.scopes)}:{self.digest}"

    @classmethod
    def of(cls, secret: str, *, name: str, scopes: Iterable[Scope | str]) -> Self:
        """The key with a secret that exists already, such as one from the environment.

        Raises:
            InvalidKey: The secret has less than 8 or more than 512 characters, or some that no header can carry; or
                the name or a scope is none.
        """
        if not (
            _SHORTEST <= len(secret) <= _LONGEST and secret.isascii() and secret.isprintable() and " " not in secret
        ):
            raise InvalidKey(
                f"the secret of the key {name!r} cannot be used: give {_SHORTEST} to {_LONGEST} ASCII characters "
                "without spaces, such as `stagepost keys new` makes"
            )
        return cls(name, digest_of(secret), checked_scopes(scopes))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The key that a line stands for.

        Raises:
            InvalidKey: It is none; the message does not show the line, which may be a secret.
        """
        parts = text.strip().split(":")
        if len(parts) != 3:  # noqa: PLR2004  # name, scopes, digest
            raise InvalidKey("a stored key has the form name:scopes:digest: make one with `stagepost keys new`")
        name, scopes, digest = parts
        return cls(name, digest.lower(), checked_scopes(scope for scope in scopes.split(",") if scope))


def new_key(name: str, scopes: Collection[Scope | str]) -> tuple[str, Key]:
    """Make a key with a random secret.

    Returns:
        The secret, for whoever gets the key, and the key, to be stored.

    Raises:
        InvalidKey: The name or a scope is none.
    """
    secret = f"{_PREFIX}{token_urlsafe(32)}"
    return secret, Key.of(secret, name=name, scopes=scopes)


def parse_keys(text: str) -> tuple[Key, ...]:
    """The keys of a file or a variable: separated by white space; from ``#`` to the end of a line it is a comment.

    Raises:
        InvalidKey: One is none, or two have one name.
    """
    lines = (line.partition("#")[0] for line in text.splitlines())
    return checked_keys([Key.parse(word) for line in lines for word in line.split()])


def checked_keys(keys: Iterable[Key]) -> tuple[Key, ...]:
    """Keys with names of their own.

    Raises:
        InvalidKey: Two have one name.
    """
    found: dict[str, Key] = {}
    for key in keys:
        if found.setdefault(key.name, key) is not key:
            raise InvalidKey(f"there are two keys with the name {key.name!r}: give each its own")
    return tuple(found.values())


def checked_scopes(scopes: Iterable[Scope | str]) -> frozenset[Scope]:
    """Scopes by their names.

    Raises:
        InvalidKey: There is no such scope.
    """
    try:
        return frozenset(Scope(scope) for scope in scopes)
    except ValueError as error:
        raise InvalidKey(f"{error}: scopes are {', '.join(Scope)}") from None


def digest_of(secret: str) -> str:
    """The digest that is stored of a secret."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
