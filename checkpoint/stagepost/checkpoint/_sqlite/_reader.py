"""Reads, through aiosqlite on a read-only connection.

Every read is one statement and so one short transaction of its own: calls of different tasks may interleave on the
connection without seeing each other's transaction, a cancelled one leaves nothing open, and no read holds up the WAL.
"""

import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread, current_thread
from typing import Any, Final, TypeVar, cast

import aiosqlite
import anyio

from ..errors import CheckpointError, NotAStore, StoreNotReadable
from ._batch import primary_code
from ._faults import BUSY_TIMEOUT, translate_read
from ._generation import Files, open_known, overwritten
from ._queries import Query, Row, as_text
from ._schema import Schema

T = TypeVar("T")
_GONE: Final = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)  # what was a store is no database, or has no such table
_META: Final = "SELECT 1 FROM meta"
_CHUNK: Final = 64  # rows that an iteration fetches at once; there are none here


class ReadingConnection(sqlite3.Connection):
    """A connection that reads only while its file is at its path.

    Attributes:
        files: The files that it has open.
        schema: The tables that it reads, unless the owner itself reads them.
    """

    files: Files
    schema: Schema | None = None

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> sqlite3.Cursor:  # type: ignore[override]  # no mapping is needed
        """Run a query.

        Raises:
            StoreLost: The file was deleted, moved or replaced.
        """
        lost = self.files.lost()
        if lost is not None:
            raise lost
        return super().execute(sql, parameters)

    def newer(self) -> NotAStore | None:
        """Why what was read may mean something else: somebody has brought the file to another version."""
        return None if self.schema is None else self.schema.newer(self, self.files.path)


class Reader:
    """A read-only connection to a database that somebody else writes."""

    def __init__(self, connection: aiosqlite.Connection, path: Path, files: Files) -> None:
        self._connection = connection
        self._path = path
        self._files = files
        self._is_store = False

    async def fetch(self, query: Query) -> list[Row]:
        """The rows of one query.

        Raises:
            StoreLost: The file was deleted, moved, replaced or overwritten since it was opened.
        """
        (rows,) = await self.fetch_each((query,))
        return rows

    async def fetch_each(self, queries: Sequence[Query]) -> list[list[Row]]:
        """The rows of several queries, in one turn of the reading thread; each is a transaction of its own.

        Raises:
            StoreLost: The file was deleted, moved, replaced or overwritten since it was opened.
        """
        try:
            return await self.run(partial(_rows, queries))
        except sqlite3.Error as error:
            raise await self._failure(error) from error

    async def run(self, look: Callable[[sqlite3.Connection], T]) -> T:
        """Do some work in the reading thread, about as much as is read for one page."""
        connection = self._connection  # aiosqlite has no public way to do several things in one turn
        return cast("T", await connection._execute(partial(_checked, look), connection._conn))  # type: ignore[no-untyped-call]  # noqa: SLF001  # aiosqlite's own

    async def interrupt(self) -> None:
        """End what the reading thread reads at this moment, which then raises."""
        await self._connection.interrupt()

    async def _failure(self, error: sqlite3.Error) -> CheckpointError:
        """What an error of a query means."""
        is_store = not self._is_store or primary_code(error) not in _GONE or await self._has_meta()
        return translate_read(error, self._path) if is_store else overwritten(self._path)

    async def _has_meta(self) -> bool:
        """Whether the file is still a store, perhaps one that has lost a table."""
        try:
            return bool(await self._connection.execute_fetchall(_META))
        except sqlite3.Error:
            return False

    def watch_beside(self) -> None:
        """From now on see that the WAL is still there, too: for a file that is known to be a store."""
        self._files.add_beside()
        self._is_store = True

    def watch_version(self, schema: Schema) -> None:
        """From now on see that the tables are still these: an owner of a newer version may bring them over."""
        cast("ReadingConnection", self._connection._conn).schema = schema  # noqa: SLF001  # as in `run`


def _checked(look: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection) -> T:
    """Read something, and see afterwards that the tables were still those that are known.

    Raises:
        NotAStore: They were not, whatever was read of them.
    """
    reading = cast("ReadingConnection", connection)
    try:
        found = look(connection)
    except sqlite3.Error:
        with suppress(sqlite3.Error):
            _refuse(reading)
        raise
    _refuse(reading)
    return found


def _refuse(connection: ReadingConnection) -> None:
    newer = connection.newer()
    if newer is not None:
        raise newer


def _rows(queries: Sequence[Query], connection: sqlite3.Connection) -> list[list[Row]]:
    return [connection.execute(query.text, query.values).fetchall() for query in queries]


async def _opened(connection: aiosqlite.Connection, path: Path) -> None:
    try:
        with anyio.CancelScope(shield=True):  # it takes no lock and reads nothing yet
            await connection
        connection.text_factory = as_text
    except OSError as error:
        raise StoreNotReadable(path, error.strerror or str(error)) from error
    except sqlite3.Error as error:
        raise translate_read(error, path) from error


def connect_reading(address: str, path: Path, name: Path) -> ReadingConnection:
    """Open a connection that reads, for the thread that calls this; the arguments are those of `open_reader`."""

    def open_it() -> ReadingConnection:
        return sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT, factory=ReadingConnection)

    reading, files = open_known(path, name, open_it)
    reading.files = files
    return reading


@asynccontextmanager
async def open_reader(address: str, path: Path, name: Path) -> AsyncIterator[Reader]:
    """Open a reader and close it, whatever happens: its thread would keep the process alive.

    The thread is waited for, since the last that it does is to tell the event loop, which may be closed behind this.

    Args:
        address: SQLite's URI of the database.
        path: Its file, without symbolic links.
        name: The absolute path that it was asked for by.
    """
    threads: list[Thread] = []
    opened: list[Files] = []

    def connect() -> sqlite3.Connection:
        threads.append(current_thread())
        reading = connect_reading(address, path, name)
        opened.append(reading.files)
        return reading

    connection = aiosqlite.Connection(connect, _CHUNK)
    try:
        await _opened(connection, path)
        yield Reader(connection, path, opened.pop())
    finally:
        with anyio.CancelScope(shield=True):
            await connection.close()
            await anyio.to_thread.run_sync(threads.pop().join)
