"""Writing beside the owner of a file, from any process: answers, signals, words about effects, cancellations.

Whoever does so owns nothing, so that it raises no generation and copies no WAL, and commits survive what the owner's
survive. Writers beside the owner sign a lock file before they begin a transaction, so that whoever waits for the write
lock can say for whom.
"""

import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from copy import copy
from pathlib import Path
from time import sleep
from typing import Any, Final, TypeVar, cast

import anyio

from .._limits import Limits
from ..errors import StoreError, StoreNotReadable
from ._aside import Aside
from ._batch import Outcome, Work, is_busy, run_batch
from ._connect import Connection, leave_wal, restrict, synchronous
from ._faults import ANOTHER_PROGRAM, TRY, translate_read
from ._generation import Files, WritingConnection, open_known
from ._inbox import SqlInbox
from ._lock import FileLock, held_by, inbox_lock_of, lock_of, name_in
from ._queries import Query, Row
from ._reader import Reader
from ._schema import Schema
from ._store_reader import opened_reader
from ._writer import Writer

T = TypeVar("T")

_POLL: Final = 0.005  # seconds between tries to sign
_STEP: Final = 0.002  # seconds between tries to begin a transaction


class InboxConnection(WritingConnection):
    """A connection that writes beside the owner.

    Attributes:
        synchronous: How its commits are synchronized, as SQLite counts.
        schema: The tables that it writes to.
    """

    synchronous: int
    schema: Schema

    def refusal(self) -> Exception | None:
        """Why nothing may be written: the file is not at its path any more, or a new owner wants something else."""
        lost = self.files.lost() or self.schema.newer(self, self.path)
        return lost or (None if synchronous(self) == self.synchronous else _busy())

    def synchronize(self) -> None:
        """Let commits survive what those of the owner survive."""
        wanted = synchronous(self)
        if wanted != self.synchronous:
            self.execute(f"PRAGMA synchronous = {wanted}")
            self.synchronous = wanted


class SqliteInbox(Aside, SqlInbox):
    """What anybody may do with a store's file, beside its owner: `Inbox` and `Catalogue`. `SqliteStore.inbox` opens it.

    What returned is in the file, and survives what the owner's commits survive. The owner hears of it within a fraction
    of a second, or when there is one again.
    """

    def __init__(
        self, writer: Writer, reader: Reader, at: tuple[Path, Path], clock: Callable[[], float], limits: Limits
    ) -> None:
        super().__init__(clock, limits, writer)
        self._reader = reader
        self._at = at

    def _file(self) -> tuple[Path, Path]:
        return self._at

    def _tell(self, work: Callable[[Connection], T], *, patient: bool = False) -> Coroutine[Any, Any, T]:  # noqa: ARG002  # all come from outside
        return self._sink.write(work, patient=False)

    async def _read(self, query: Query) -> Sequence[Row]:
        return await self._reader.fetch(query)


@asynccontextmanager
async def open_inbox(
    given: Path, clock: Callable[[], float], limits: Limits, schema: Schema
) -> AsyncIterator[SqliteInbox]:
    """Open a file to write beside its owner.

    Raises:
        StoreNotReadable: There is no such file, or it or its folder refuses.
        NotAStore: It is something else.
        SqliteTooOld: SQLite is older than 3.37.
        BackendNotSupported: The loop is not asyncio's.
    """
    async with opened_reader(given, schema) as (reader, path, name):
        batches = SignedBatches(path)
        writer = Writer(
            path,
            lambda: _connect(path, name, schema),
            run_batch=batches,
            may_checkpoint=lambda _: False,
            holder=batches.holder,
        )
        try:
            await writer.start()
            yield SqliteInbox(writer, reader, (path, name), clock, limits)
        finally:
            with anyio.CancelScope(shield=True):
                await writer.close()  # before the reader, which copies no WAL: the last connection would


class SignedBatches:
    """Batches of whoever writes beside the owner, each with the writer's name in a lock file for as long as it takes.

    Args:
        path: The database.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = FileLock(inbox_lock_of(path))

    def __call__(self, connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        """Run a batch in a transaction."""
        try:
            if not self._sign():
                raise _busy()
            cast("InboxConnection", connection).synchronize()
            return _run(connection, batch)
        except (StoreError, sqlite3.Error) as error:
            return [Outcome(error=copy(error)) for _ in batch]
        finally:
            self._lock.release()

    def holder(self) -> str:
        """Who holds the write lock, as far as that is known."""
        beside = held_by(inbox_lock_of(self._path))
        return beside or f"{name_in(lock_of(self._path))} (the owner), or {ANOTHER_PROGRAM}"

    def _sign(self) -> bool:
        """Try to be the one who writes beside the owner, about as long as SQLite waits for the write lock."""
        for _ in range(round(TRY / _POLL)):
            if self._lock.try_acquire():
                return True
            sleep(_POLL)
        return False


def _run(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
    """Run a batch as soon as nobody writes; SQLite itself would look too seldom, and the owner waits meanwhile."""
    for _ in range(round(TRY / _STEP)):
        outcomes = run_batch(connection, batch)
        if not any(outcome.error is not None and is_busy(outcome.error) for outcome in outcomes):
            break
        sleep(_STEP)
    return outcomes


def _connect(path: Path, name: Path, schema: Schema) -> InboxConnection:
    def open_it() -> InboxConnection:
        address = f"{path.as_uri()}?mode=rw"
        return sqlite3.connect(address, uri=True, isolation_level=None, timeout=TRY, factory=InboxConnection)

    try:
        connection, files = open_known(path, name, open_it)
        try:
            _set_up(connection, files, schema)
        except BaseException:
            connection.close()
            raise
    except OSError as error:
        raise StoreNotReadable(path, error.strerror or str(error)) from error
    except sqlite3.Error as error:
        raise translate_read(error, path) from error
    return connection


def _set_up(connection: InboxConnection, files: Files, schema: Schema) -> None:
    restrict(connection)
    leave_wal(connection)
    connection.path, connection.files, connection.schema = files.path, files, schema
    connection.synchronous = -1
    connection.synchronize()
    files.add_beside()
    connection.execute("PRAGMA busy_timeout = 0")


def _busy() -> sqlite3.OperationalError:
    """What SQLite says while somebody else writes."""
    error = sqlite3.OperationalError("another process writes")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return error
