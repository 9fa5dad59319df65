"""Which of a file's owners a connection belongs to.

The lock file keeps processes apart, unless the owner of a file is stopped and another takes over, or somebody deletes
the lock file. Therefore every opening for writing also raises a number in the file, its generation, and every
transaction begins by comparing it. An earlier owner that wakes up can then change nothing any more: neither commit nor
claim nor create. To compare costs one look at a page that is in the cache; nothing is written.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from ..errors import StoreTakenOver

_RAISE = "UPDATE meta SET value = value + 1 WHERE name = 'generation' RETURNING value"
GENERATION = "SELECT value FROM meta WHERE name = 'generation'"


class OwnedConnection(sqlite3.Connection):
    """A writing connection that knows its generation.

    Attributes:
        path: The file, for errors.
        generation: The number that this opening of the file has.
    """

    path: Path
    generation: int


def begin_generation(connection: OwnedConnection, path: Path, confirm: Callable[[], None]) -> None:
    """Fence every earlier owner of the file.

    Args:
        connection: The writing connection.
        path: The file.
        confirm: Called while nobody else can write; raises if the file is not ours to own.

    Raises:
        StoreTakenOver: `confirm` says so.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")
        confirm()
        ((connection.generation,),) = connection.execute(_RAISE).fetchall()
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    connection.path = path


def taken_over(connection: sqlite3.Connection) -> StoreTakenOver | None:
    """The refusal of an owner that is not the last one; never for a database that nobody else can open."""
    if not isinstance(connection, OwnedConnection) or connection.execute(GENERATION).fetchone() == (
        connection.generation,
    ):
        return None
    return StoreTakenOver(connection.path)
