"""Which of a file's owners a connection belongs to.

The lock file keeps processes apart, unless the owner of a file is stopped and another takes over, or somebody deletes
the lock file. Therefore every opening for writing also raises a number in the file, its generation, and every
transaction begins by comparing it. An earlier owner that wakes up can then change nothing any more: neither commit nor
claim nor create. To compare costs one look at a page that is in the cache; nothing is written.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from ..errors import StoreLost, StoreTakenOver
from ._files import Files, overwritten
from ._main_file import MainFile

_RAISE = "UPDATE meta SET value = value + 1 WHERE name = 'generation' RETURNING value"
GENERATION = "SELECT value FROM meta WHERE name = 'generation'"


class OwnedConnection(sqlite3.Connection):
    """A writing connection that knows its generation, and its files.

    Attributes:
        path: The file, for errors.
        generation: The number that this opening of the file has.
        files: The files that it has open.
        main: What is known of the database file.
    """

    path: Path
    generation: int
    files: Files
    main: MainFile


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
    if not isinstance(connection, OwnedConnection):
        return None
    files = connection.files
    try:
        gone = files.lost(quickly=quickly)
        if gone is None and connection.main.is_overwritten(files.main):
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


def taken_over(connection: sqlite3.Connection) -> StoreTakenOver | None:
    """The refusal of an owner that is not the last one; never for a database that nobody else can open."""
    if not isinstance(connection, OwnedConnection) or connection.execute(GENERATION).fetchone() == (
        connection.generation,
    ):
        return None
    return StoreTakenOver(connection.path)
