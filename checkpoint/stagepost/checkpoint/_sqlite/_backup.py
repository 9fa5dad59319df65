"""Copies of a file that is in use.

SQLite's backup would begin again whenever another connection has written, and so never end under load. Here the
connection that reads holds a transaction: the copy is what the file was at that moment, commits go on meanwhile, and
only the copying of the WAL into the file waits. The copy is written under another name, in slices that are synced one
by one, so that the disk is never asked for much at once, and gets its name when all of it is on the disk.
"""

import errno
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from .._backup_errors import BackupExists, BackupFailed
from .._store_errors import StoreError
from ._batch import primary_code
from ._lock import held_by, lock_of

Tell: TypeAlias = Callable[[int, int], None]

_PAGES: Final = 256  # copied at once
_SYNC: Final = 4 * 1024 * 1024  # bytes after which the copy is synced
_BESIDE: Final = ("-wal", "-shm", "-journal")
_HOT: Final = ("-wal", "-journal")  # what is in these, SQLite takes for a part of the file
_SNAPSHOT: Final = "SELECT count(*) FROM meta"
_RENEW: Final = "UPDATE meta SET value = random() & 0x3fffffffffffffff WHERE name = 'copied'"
_REMEDIES: Final = {sqlite3.SQLITE_FULL: "the disk is full: free some space, or give a path on another disk"}


def partial_of(path: Path) -> Path:
    """What a backup is called before it is whole."""
    return path.with_name(f"{path.name}.partial")


def check_target(path: Path, *, overwrite: bool) -> None:
    """Refuse to write a backup where something is that it would destroy, or that would destroy it.

    Raises:
        BackupExists: The file exists.
        BackupFailed: It is in use, or was not closed: its WAL would be taken for that of the backup.
    """
    if path.exists() and not overwrite:
        raise BackupExists(path)
    if path.is_dir():
        raise BackupFailed(path, "it is a folder: give a file")
    if path.exists() and (holder := held_by(lock_of(path))) is not None:
        raise BackupFailed(path, f"it is a store that {holder} has open: give another name")
    for beside in (path.with_name(f"{path.name}{suffix}") for suffix in _HOT):
        if beside.exists() and beside.stat().st_size:
            raise BackupFailed(path, f"{beside.name} belongs to a file that was not closed: give another name")


def back_up(connect: Callable[[], sqlite3.Connection], path: Path, tell: Tell, *, overwrite: bool) -> None:
    """Copy a database, in the thread that calls this.

    Args:
        connect: Opens the database for reading.
        path: The copy.
        tell: Called after each piece with the bytes that were copied and those of all; ends the copying by raising.
        overwrite: Whether to replace a file that is there.

    Raises:
        BackupExists: The file exists.
        BackupFailed: It cannot be made.
    """
    check_target(path, overwrite=overwrite)
    try:
        with _partial(path) as (partial, fd):
            with closing(connect()) as source:
                _copy(source, partial, fd, tell)
            os.fsync(fd)
            check_target(path, overwrite=overwrite)
            partial.replace(path)
        _sync_folder(path.parent)
    except sqlite3.Error as error:
        reason = _REMEDIES.get(primary_code(error), str(error))
        raise BackupFailed(path, reason) from error
    except StoreError:
        raise
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise BackupFailed(path, _REMEDIES[sqlite3.SQLITE_FULL] if full else error.strerror or str(error)) from error


def _copy(source: sqlite3.Connection, partial: Path, fd: int, tell: Tell) -> None:
    """Copy the database as it is now, and make the copy a database of its own.

    The owner of a file tells by a number whether somebody has written over it. The copy gets another one, lest it be
    taken for the file itself.
    """
    synced = 0

    def copied(_: int, remaining: int, pages: int) -> None:
        nonlocal synced
        done = (pages - remaining) * size
        if done - synced >= _SYNC:
            os.fsync(fd)
            synced = done
        tell(done, pages * size)

    with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
        copy.execute("PRAGMA journal_mode = OFF")
        copy.execute("PRAGMA synchronous = OFF")  # it is synced before it gets its name
        source.execute("BEGIN")
        source.execute(_SNAPSHOT).fetchone()
        size = int(source.execute("PRAGMA page_size").fetchone()[0])
        source.backup(copy, pages=_PAGES, progress=copied)
        source.execute("ROLLBACK")
        copy.execute(_RENEW)


@contextmanager
def _partial(path: Path) -> Iterator[tuple[Path, int]]:
    """An empty file beside the one to be made, which nobody else writes; what is left of a killed process is reused.

    Raises:
        BackupFailed: Somebody else makes the same backup.
        OSError: It cannot be made.
    """
    partial = partial_of(path)
    fd = _locked(partial, path)
    try:
        _remove(partial, _BESIDE)
        os.ftruncate(fd, 0)
        yield partial, fd
    except BaseException:
        _remove(partial, ("", *_BESIDE))
        raise
    finally:
        os.close(fd)


def _locked(partial: Path, path: Path) -> int:
    """The file, open and locked; whoever has locked it before may have given it its name since."""
    while True:
        fd = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise BackupFailed(path, "another backup to it is being made: wait for it, or give another name") from None
        if partial.exists() and os.path.samestat(os.fstat(fd), partial.stat()):
            return fd
        os.close(fd)


def _remove(path: Path, suffixes: tuple[str, ...]) -> None:
    for suffix in suffixes:
        with suppress(OSError):
            path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Let the new name survive a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
