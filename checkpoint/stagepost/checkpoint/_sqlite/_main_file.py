"""Whether somebody has written over the database file itself.

``cp`` and restoring programs write into a file that is there, whose inode stays. SQLite does not notice: it goes on
with pages of two databases. But only copying the WAL changes the file, and the owner does that itself. If the file has
changed at another time, either another program has copied the WAL, which does no harm, or somebody has written over it.

To tell one from the other, each time before the WAL is copied a number in the database is raised. So whoever reads the
file alone, without the WAL, finds the number of the last time; in an older copy it is lower, and in another database it
is another one, since it begins at random.

While a reader holds up the copying, nobody may be able to read the file alone: SQLite copies no page that has changed
since the reader began, so pages of two times are beside each other, and the first one may count some that are missing.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Final

_RAISE: Final = """
UPDATE meta SET value = value + 1
WHERE name = 'copied' AND (SELECT value FROM meta WHERE name = 'generation') = ? RETURNING value
"""
_COPIED: Final = "SELECT value FROM meta WHERE name = 'copied'"
_PAUSE: Final = 0.1  # seconds after which a file that is being written to has changed again


class MainFile:
    """The database file of the connection that owns it.

    Attributes:
        marks: Time and size of the file when it was last known to be ours: as long as they are these, it is.

    Args:
        connection: The connection.
        path: The file.
        generation: The generation of the connection.
    """

    __slots__ = ("_connection", "_copied", "_generation", "_is_held_up", "_path", "_raised", "marks")

    def __init__(self, connection: sqlite3.Connection, path: Path, generation: int) -> None:
        self._connection = connection
        self._path = path
        self._generation = generation
        self._copied = read_alone(path)  # the number in the file; None: it is not known
        self._is_held_up = False  # whether only some pages of the WAL were copied the last time
        self._raised = self._latest()
        self.marks = _marks(path)

    def is_overwritten(self, found: os.stat_result) -> bool:
        """Whether what is in the file was not written by SQLite.

        Args:
            found: What was seen of it just now.
        """
        if (found.st_mtime_ns, found.st_size) == self.marks:
            return False
        seen = None
        while (marks := _marks(self._path)) != seen:  # another program may be copying the WAL at this moment
            if self._is_ours():
                self.marks = marks
                return False
            seen = marks
            sleep(_PAUSE)
        return True

    def copy_wal(self, mode: str) -> None:
        """Copy the WAL into the file, unless that was written over.

        Raises:
            sqlite3.Error: SQLite could not.
            OSError: The file is gone.
        """
        if self._raised == self._copied:
            self._raise()
        if self.is_overwritten(self._path.stat()):
            return
        busy, length, copied = self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        self._is_held_up = bool(busy) or length != copied
        if not self._is_held_up:
            self._copied = self._raised
        marks = _marks(self._path)
        if self._is_ours():  # else it was written over meanwhile, which `is_overwritten` will find
            self.marks = marks

    def _raise(self) -> None:
        try:
            for (number,) in self._connection.execute(_RAISE, (self._generation,)).fetchall():
                self._raised = number
        except sqlite3.Error:  # the disk is full, or another program writes: then it stays as it is
            return

    def _is_ours(self) -> bool:
        found = read_alone(self._path)
        if self._copied is None:
            return True
        if found is None:
            return self._is_held_up
        return self._copied <= found <= self._latest()

    def _latest(self) -> int:
        number: int = self._connection.execute(_COPIED).fetchone()[0]
        return number


def _marks(path: Path) -> tuple[int, int]:
    """What changes whenever a file is written to."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def read_alone(path: Path) -> int | None:
    """The number that is in the file, whatever the WAL says; None if there is none."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            number: int = connection.execute(_COPIED).fetchone()[0]
    except (sqlite3.Error, TypeError):
        return None
    return number
