"""Reads, through aiosqlite on a read-only connection.

Every read is one statement and so one short transaction of its own: calls of different tasks may interleave on the
connection without seeing each other's transaction, a cancelled one leaves nothing open, and no read holds up the WAL.
"""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread, current_thread
from typing import Final

import aiosqlite
import anyio

from ._faults import BUSY_TIMEOUT, translate_read
from ._queries import Query, Row, as_text

_CHUNK: Final = 64  # rows that an iteration fetches at once; there are none here


class Reader:
    """A read-only connection to a database that somebody else writes."""

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    async def fetch(self, query: Query) -> list[Row]:
        """The rows of one query."""
        try:
            return list(await self._connection.execute_fetchall(query.text, query.values))
        except sqlite3.Error as error:
            raise translate_read(error, self._path) from error


async def _opened(connection: aiosqlite.Connection, path: Path) -> None:
    try:
        with anyio.CancelScope(shield=True):  # it takes no lock and reads nothing yet
            await connection
        connection.text_factory = as_text
    except sqlite3.Error as error:
        raise translate_read(error, path) from error


@asynccontextmanager
async def open_reader(address: str, path: Path) -> AsyncIterator[Reader]:
    """Open a reader and close it, whatever happens: its thread would keep the process alive.

    The thread is waited for, since the last that it does is to tell the event loop, which may be closed behind this.

    Args:
        address: SQLite's URI of the database.
        path: Its file, for errors.
    """
    threads: list[Thread] = []

    def connect() -> sqlite3.Connection:
        threads.append(current_thread())
        return sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT)

    connection = aiosqlite.Connection(connect, _CHUNK)
    try:
        await _opened(connection, path)
        yield Reader(connection, path)
    finally:
        with anyio.CancelScope(shield=True):
            await connection.close()
            await anyio.to_thread.run_sync(threads.pop().join)
