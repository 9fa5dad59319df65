"""A store that forgets at its end, for tests and for event loops other than asyncio's."""

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self, TypeVar, cast

import anyio
from anyio.lowlevel import cancel_shielded_checkpoint, checkpoint

from ._feed import Feed
from ._limits import DEFAULT, Limits
from ._ownership import Owner
from ._sqlite import _owners as owners
from ._sqlite._batch import run_batch
from ._sqlite._connect import MEMORY, Connection, connect_memory
from ._sqlite._faults import translate
from ._sqlite._inbox import Closed
from ._sqlite._queries import Query, Row
from ._sqlite._runs import SqlRuns
from ._sqlite._verifying import Verifying
from .errors import StoreClosed, StoreError

T = TypeVar("T")

_NAME: Final = "in memory"


class MemoryStore(Verifying, SqlRuns):
    """Keeps runs as bytes in memory, by the very statements that `SqliteStore` runs on its file.

    So the fence, the refusals and every error are the same, on asyncio and trio; only the file, its lock and the
    writing thread are missing. The contents survive leaving and entering again, which is how a test plays a restart,
    and are gone with the object.

    Args:
        max_value: The most bytes of JSON that a value may have, or of a list that only grows one element; more is
            refused with `ValueTooLarge`. None for no limit.
        warn_value: Of values with more bytes than this observers are told; None for never.
        max_blob: The most bytes that are kept beside the JSON under one digest; more is refused with `BlobTooLarge`.
            None for no limit.
        clock: Seconds since 1970, for the times that runs carry, and for heartbeats.
        owners: How many runners may work on it at once.
        ttl: Seconds after which one of several owners is dead without a heartbeat.
    """

    def __init__(
        self,
        *,
        max_value: int | None = DEFAULT.refuse,
        warn_value: int | None = DEFAULT.warn,
        max_blob: int | None = DEFAULT.blob,
        clock: Callable[[], float] = time.time,
        owners: int = 1,
        ttl: float = 15.0,
    ) -> None:
        limits = Limits(max_value, warn_value, max_blob)
        super().__init__(clock, limits, _NAME, owners=owners, ttl=ttl if owners > 1 else None)
        self._kept: bytes | None = None
        self._connection: Connection | None = None
        self._ended = anyio.Event()

    async def __aenter__(self) -> Self:
        self._connection = connect_memory(self._kept)
        self._sink = _Memory(self._connection, self._ring)
        self._ended = anyio.Event()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        connection, self._connection, self._sink = self._open(), None, Closed(_NAME)
        self._kept = connection.serialize()
        connection.close()
        self._end_feeds()
        self._ended.set()

    async def failure(self) -> StoreError:
        """Wait for the end of the store: before that nothing ends it for good."""
        if self._connection is not None:
            await self._ended.wait()
        return StoreClosed(_NAME)

    async def data_version(self) -> int:
        """A number that changes with each commit that changes anything, as that of `SqliteStore`."""
        await checkpoint()
        return self._open().total_changes

    async def _listen(self, owner: Owner, feed: Feed) -> None:  # noqa: ARG002  # all are told whenever there is news
        await checkpoint()
        self._ring(self._open())

    def _ring(self, connection: Connection) -> None:
        for owner, feed in self._feeds.items():
            feed.put(owners.changes(connection, owner))

    async def _read(self, query: Query) -> list[Row]:
        await checkpoint()
        return self._open().execute(query.text, query.values).fetchall()

    async def _read_each(self, queries: Sequence[Query]) -> list[list[Row]]:
        await checkpoint()
        return [self._open().execute(query.text, query.values).fetchall() for query in queries]

    async def _examine(self, look: Callable[[Connection], T]) -> T:
        await checkpoint()
        return look(self._open())

    def _open(self) -> Connection:
        if self._connection is None:
            raise StoreClosed(_NAME)
        return self._connection


class _Memory:
    """Does work at once, and rings if it brings news."""

    def __init__(self, connection: Connection, ring: Callable[[Connection], None]) -> None:
        self._connection = connection
        self._ring = ring

    async def write(self, work: Callable[[Connection], T], *, patient: bool = True, tells: bool = False) -> T:  # noqa: ARG002  # nobody else writes
        """Do it."""
        (outcome,) = run_batch(self._connection, [work])
        if tells:
            self._ring(self._connection)
        await cancel_shielded_checkpoint()  # what is saved is reported, as by the writer of a file
        if outcome.error is not None:
            raise translate(outcome.error, MEMORY)
        return cast("T", outcome.result)
