"""Where tokens are kept, and what is known of an authorization on its way."""

import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol
from uuid import uuid4

from stagepost.checkpoint import EncryptedTexts, Statement, Tables

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS app_stagepost_tokens (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    expires_at REAL,
    taken_by TEXT
) STRICT
"""
_IS_MADE: Final = "SELECT count(*) FROM sqlite_master WHERE name = 'app_stagepost_tokens'"
_GET: Final = """
SELECT value FROM app_stagepost_tokens
WHERE name = ? AND taken_by IS NULL AND (expires_at IS NULL OR expires_at > ?)
"""
_PUT: Final = "INSERT OR REPLACE INTO app_stagepost_tokens (name, value, expires_at) VALUES (?, ?, ?)"
_CLEAN: Final = "DELETE FROM app_stagepost_tokens WHERE expires_at <= ?"
_TAKE: Final = "UPDATE app_stagepost_tokens SET taken_by = ? WHERE name = ? AND taken_by IS NULL AND expires_at > ?"
_TAKEN: Final = "SELECT value FROM app_stagepost_tokens WHERE name = ? AND taken_by = ?"
_DELETE: Final = "DELETE FROM app_stagepost_tokens WHERE name = ?"


class TokenStore(Protocol):
    """Keeps what an `AuthorizationCode` must not lose: tokens, and what a callback has to find again.

    Values are texts. They are secrets: they belong into no log.
    """

    async def get(self, name: str) -> str | None:
        """A value; None if there is none, or it has expired."""
        ...

    async def put(self, name: str, value: str, *, within: float | None = None) -> None:
        """Keep a value, in place of the one that has this name.

        Args:
            name: Its name.
            value: It.
            within: For how many seconds; None for as long as nobody replaces it.
        """
        ...

    async def take(self, name: str) -> str | None:
        """Remove a value that expires, and return it: of several who take it at once, one gets it, all others None."""
        ...


class MemoryTokenStore:
    """Keeps tokens in this process: for tests, and where a person may be asked again after each start.

    Args:
        clock: Seconds since 1970.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[str, float | None]] = {}

    async def get(self, name: str) -> str | None:
        """A value; None if there is none, or it has expired."""
        self._clean()
        return self._kept.get(name, (None, None))[0]

    async def put(self, name: str, value: str, *, within: float | None = None) -> None:
        """Keep a value."""
        self._clean()
        self._kept[name] = (value, None if within is None else self._clock() + within)

    async def take(self, name: str) -> str | None:
        """Remove a value, and return it."""
        self._clean()
        return self._kept.pop(name, (None, None))[0]

    def _clean(self) -> None:
        now = self._clock()
        for name in [name for name, (_, until) in self._kept.items() if until is not None and until <= now]:
            del self._kept[name]


class StoredTokens:
    """Keeps tokens in the store of the runner, so that nobody is asked again after a restart.

    Args:
        store: The store; an `EncryptedStore` does not encrypt them, so give `keys` here, too.
        keys: Encrypt them, as those of an `EncryptedStore`: the first encrypts, all decrypt. Without any, whoever can
            read the file can use the tokens.
        clock: Seconds since 1970.

    Raises:
        ValueError: A key is of another length than 16, 24 or 32 bytes.
        EncryptionNotInstalled: There are keys, and the extra ``encryption`` is not installed.
    """

    def __init__(
        self, store: Tables, *, keys: bytes | Sequence[bytes] | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._texts = None if keys is None else EncryptedTexts(keys, plain=True)
        self._clock = clock

    async def get(self, name: str) -> str | None:
        """A value; None if there is none, or it has expired.

        Raises:
            CannotDecrypt: It was encrypted by a key that was not given.
        """
        if not await self._is_made():
            return None
        rows = await self._store.query(_GET, name, self._clock())
        return self._opened(name, rows)

    async def put(self, name: str, value: str, *, within: float | None = None) -> None:
        """Keep a value, and remove those that have expired."""
        sealed = value if self._texts is None else self._texts.seal(name, value)
        now = self._clock()
        await self._store.execute(
            Statement(_TABLE),
            Statement(_CLEAN, (now,)),
            Statement(_PUT, (name, sealed, None if within is None else now + within)),
        )

    async def take(self, name: str) -> str | None:
        """Remove a value that expires, and return it: of several who take it at once, one gets it."""
        if not await self._is_made():
            return None
        own = uuid4().hex
        await self._store.execute(Statement(_TAKE, (own, name, self._clock())))
        rows = await self._store.query(_TAKEN, name, own)
        if rows:
            await self._store.execute(Statement(_DELETE, (name,)))
        return self._opened(name, rows)

    async def _is_made(self) -> bool:
        return (await self._store.query(_IS_MADE)) == [(1,)]

    def _opened(self, name: str, rows: Sequence[tuple[object, ...]]) -> str | None:
        if not rows:
            return None
        value = str(rows[0][0])
        return value if self._texts is None else self._texts.open(name, value)
