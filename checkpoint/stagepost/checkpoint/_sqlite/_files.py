"""Whether the files that are open are still those at their paths.

A file that is deleted, moved or replaced stays open, and takes commits that nobody will find: whoever opens its path
gets another file, or none. So device and inode of each path are compared with those of the file that is open: by the
owner before each batch that comes after a pause, and after each batch before it is acknowledged; by a reader before
each query.

The WAL and its index count as well. Without the WAL a crash takes all commits since it was last copied; without the
index nothing keeps two processes from writing to one WAL.
"""

import os
import sqlite3
from collections.abc import Callable
from os import stat
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from ..errors import StoreLost

ConnectionT = TypeVar("ConnectionT", bound=sqlite3.Connection)

_BESIDE: Final = ("-wal", "-shm")


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
        seen: What was seen of each when they were last looked at; the database comes first.

    Args:
        path: As above.
        name: The absolute path that it was asked for by.
    """

    __slots__ = ("_known", "path", "seen")

    def __init__(self, path: Path, name: Path) -> None:
        self.path = path
        self._known = [_known(each) for each in dict.fromkeys((str(path), str(name)))]
        self.seen: list[os.stat_result] = []

    def add_beside(self) -> None:
        """Know the WAL and its index too: they are there as soon as something has been read or written.

        Raises:
            StoreLost: They are not.
        """
        for suffix in _BESIDE:
            try:
                self._known.append(_known(f"{self.path}{suffix}", f"{self.path.name}{suffix}"))
            except OSError as error:
                raise self._missing(error) from error

    @property
    def wal_size(self) -> int:
        """Bytes of the WAL when it was last looked at."""
        return self.seen[-2].st_size if self.seen else 0

    def lost(self) -> StoreLost | None:
        """The error of whoever needs the files, if one of them is not where it was."""
        try:
            self.seen = [stat(known.path) for known in self._known]  # noqa: PTH116  # half the time of a Path's
        except OSError as error:
            return self._missing(error)
        for known, found in zip(self._known, self.seen, strict=True):
            if found.st_ino != known.inode or found.st_dev != known.device:
                place = "its place" if known.beside is None else f"the place of {known.beside}"
                return StoreLost(self.path, f"another file has taken {place}", is_whole=known.beside is not None)
        return None

    def _missing(self, error: OSError) -> StoreLost:
        missing = {known.path: known.beside for known in self._known}.get(str(error.filename))
        what = "it" if missing is None else f"its file {missing}"
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return StoreLost(self.path, f"{what} was deleted or moved", is_whole=missing is not None)
        return StoreLost(self.path, f"{what} cannot be looked at: {error.strerror}")


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
