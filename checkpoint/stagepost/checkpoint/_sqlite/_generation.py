"""What a connection knows of the files that it has open, and which of a file's owners it belongs to.

A file that is deleted, moved or replaced stays open, and takes commits that nobody will find: whoever opens its path
gets another file, or none. So device and inode of each path are compared with those of the file that is open: by the
owner after each batch, before it is acknowledged; by a reader before each query.

The WAL and its index count as well. Without the WAL a crash takes all commits since it was last copied. Without the
index nothing keeps two processes from writing to one WAL; that takes another process, so the owner looks for it less
often, and before a batch.

The lock file keeps processes apart, unless the owner of a file is stopped and another takes over, or somebody deletes
the lock file. Therefore every opening for writing also raises a number in the file, its generation, and every
transaction begins by comparing it. An earlier owner that wakes up can then change nothing any more: neither commit nor
claim nor create. To compare costs one look at a page that is in the cache; nothing is written.
"""

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable
from os import stat
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from ..errors import StoreLost, StoreTakenOver
from ._main_file import MainFile

ConnectionT = TypeVar("ConnectionT", bound=sqlite3.Connection)

_WAL: Final = "-wal"
_INDEX: Final = "-shm"
RAISE: Final = "UPDATE meta SET value = value + 1 WHERE name = 'generation' RETURNING value"
GENERATION = "SELECT value FROM meta WHERE name = 'generation'"


class _Known(NamedTuple):
    """A file that is open.

    Attributes:
        path: Where it has to be.
        inode: Its number on its device.
        device: The device.
        beside: Its name, if it is one of those beside the database.
    """

    path: str
    inode: int
    device: int
    beside: str | None = None


class Files:
    """The files of an open database.

    Attributes:
        path: The database, without symbolic links: SQLite names the files beside it after this.
        main: What was seen of it when it was last looked at.
        wal_size: Bytes of the WAL when it was last looked at.

    Args:
        path: As above.
        name: The absolute path that it was asked for by.
    """

    __slots__ = ("_index", "_known", "main", "path", "wal_size")

    def __init__(self, path: Path, name: Path) -> None:
        self.path = path
        self._known = [_known(each) for each in dict.fromkeys((str(name), str(path)))]  # the database is the last one
        self._index: list[_Known] = []
        self.main = path.stat()
        self.wal_size = 0

    def add_beside(self) -> None:
        """Know the WAL and its index too: they are there as soon as something has been read or written.

        Raises:
            StoreLost: They are not.
        """
        try:
            self._known.append(_known(f"{self.path}{_WAL}", f"{self.path.name}{_WAL}"))
            self._index.append(_known(f"{self.path}{_INDEX}", f"{self.path.name}{_INDEX}"))
        except OSError as error:
            raise self._missing(error) from error

    def lost(self, *, quickly: bool = False) -> StoreLost | None:
        """The error of whoever needs the files, if one of them is not where it was.

        Args:
            quickly: Look only at the database and its WAL.
        """
        try:
            for path, inode, device, beside in self._known if quickly else (*self._known, *self._index):
                found = stat(path)  # noqa: PTH116  # half the time of a Path's
                if found.st_ino != inode or found.st_dev != device:
                    return self._replaced(beside)
                if beside is None:
                    self.main = found
                elif quickly:
                    self.wal_size = found.st_size
        except OSError as error:
            return self._missing(error)
        return None

    def _replaced(self, beside: str | None) -> StoreLost:
        place = "its place" if beside is None else f"the place of {beside}"
        return StoreLost(self.path, f"another file has taken {place}", is_whole=beside is not None)

    def _missing(self, error: OSError) -> StoreLost:
        name = Path(str(error.filename)).name
        beside = name if name in (f"{self.path.name}{_WAL}", f"{self.path.name}{_INDEX}") else None
        what = "it" if beside is None else f"its file {beside}"
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return StoreLost(self.path, f"{what} was deleted or moved", is_whole=beside is not None)
        return StoreLost(self.path, f"{what} cannot be looked at: {error.strerror}")


def overwritten(path: Path) -> StoreLost:
    """The error of whoever needs a file whose inode is the same, but not what is in it."""
    return StoreLost(path, "it was overwritten, by a copy of it or by something else")


def _known(path: str, beside: str | None = None) -> _Known:
    found = stat(path)  # noqa: PTH116  # likewise
    return _Known(path, found.st_ino, found.st_dev, beside)


def resolve(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """The path without symbolic links, and the absolute one: neither depends on the working directory any more."""
    name = Path(os.path.abspath(path))  # noqa: PTH100  # a Path's absolute() leaves ".." in it
    return Path(os.path.realpath(name)), name


def open_known(path: Path, name: Path, connect: Callable[[], ConnectionT]) -> tuple[ConnectionT, Files]:
    """Open a database, and know which file that was, also if it is replaced at this moment.

    Args:
        path: The database, without symbolic links.
        name: The absolute path that it was asked for by.
        connect: Opens it.

    Raises:
        OSError: It is not there.
    """
    while True:
        files = Files(path, name)
        connection = connect()
        if files.lost() is None:
            return connection, files
        connection.close()


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
        found = self.files.main
        return (found.st_mtime_ns, found.st_size) != self.main.marks and self.main.is_overwritten(found)


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
        ((connection.generation,),) = connection.execute(RAISE).fetchall()
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
