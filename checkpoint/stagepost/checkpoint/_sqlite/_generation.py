"""Which of a file's owners a connection belongs to.

The lock file keeps processes apart, unless the owner of a file is stopped and another takes over, or somebody deletes
the lock file. Therefore every opening for writing also raises a number in the file, its generation, and every
transaction begins by comparing it. An earlier owner that wakes up can then change nothing any more: neither commit nor
claim nor create. To compare costs one look at a page that is in the cache; nothing is written.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from ..errors import StoreLost, StoreTakenOver
from ._files import Files, overwritten
from ._main_file import MainFile

_RAISE = "UPDATE meta SET value = value + 1 WHERE name = 'generation' RETURNING value"
GENERATION = "SELECT value FROM meta WHERE name = 'generation'"


class WritingConnection(sqlite3.Connection, ABC):
    """A connection that writes only as long as it may, and that knows its files.

    Attributes:
        path: The file, for errors.
        files: The files that it has open.
    """

    path: Path
    files: Files

    @abstractmethod
    def refusal(self) -> Exception | None:
        """Why it may write nothing, asked in each transaction."""

    def is_overwritten(self) -> bool:
        """Whether what is in the file is not what was written, as far as this connection can know."""
        return False


class OwnedConnection(WritingConnection):
    """The connection of the file's owner, which knows its generation.

    Attributes:
        generation: The number that this opening of the file has.
        main: What is known of the database file.
    """

    generation: int
    main: MainFile

    def refusal(self) -> StoreTakenOver | None:
        """The refusal of an owner that is not the last one."""
        is_last = self.execute(GENERATION).fetchone() == (self.generation,)
        return None if is_last else StoreTakenOver(self.path)

    def is_overwritten(self) -> bool:
        """Whether somebody has written over the file."""
        return self.main.is_overwritten(self.files.main)


def begin_generation(connection: OwnedConnection, files: Files, confirm: Callable[[], None]) -> None:
    """Fence every earlier owner of the file.

    Args:
        connection: The writing connection.
        files: What it has open.
        confirm: Called while nobody else can write; raises if the file is not ours to own.

    Raises:
        StoreTakenOver: `confirm` says so.
        StoreLost: The files beside the database are gone already.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")
        confirm()
        ((connection.generation,),) = connection.execute(_RAISE).fetchall()
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    files.add_beside()
    connection.path, connection.files = files.path, files
    connection.main = MainFile(connection, files.path, connection.generation)


def lost(connection: sqlite3.Connection, *, quickly: bool = False) -> StoreLost | None:
    """The refusal of an owner whose file is not at its path any more, or was written over.

    Args:
        connection: The connection.
        quickly: Do not look for the WAL's index.
    """
    if not isinstance(connection, WritingConnection):
        return None
    try:
        gone = connection.files.lost(quickly=quickly)
        if gone is None and connection.is_overwritten():
            return overwritten(connection.path)
    except OSError as error:  # it went while it was looked at
        return StoreLost(connection.path, f"it was deleted or moved: {error.strerror}")
    return gone


def copy_wal(connection: sqlite3.Connection, mode: str) -> None:
    """Copy the WAL into the database, as a checkpoint of this mode.

    Raises:
        sqlite3.Error: SQLite could not.
        OSError: The file is gone.
    """
    if isinstance(connection, OwnedConnection):
        connection.main.copy_wal(mode)
    else:
        connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()


def refused(connection: sqlite3.Connection) -> Exception | None:
    """Why a connection may write nothing; never for a database that nobody else can open."""
    return connection.refusal() if isinstance(connection, WritingConnection) else None
