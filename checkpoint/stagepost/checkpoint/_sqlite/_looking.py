"""What can be seen of a store's file from outside, and of the SQLite that reads it, without opening a store."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Self

from stagepost._dataclasses import dataclass

from ..errors import CheckpointError
from ._connect import read_only
from ._faults import translate_read
from ._generation import resolve
from ._lock import held_by, inbox_lock_of, lock_of
from ._schema import APPLICATION_ID, NEEDED, OLDEST, VERSION


@dataclass(frozen=True, slots=True)
class SqliteLibrary:
    """The SQLite of this interpreter.

    Attributes:
        version: Its version.
        needed: The oldest that a store works with.
        is_enough: Whether it is not older than that.
        has_fts5: Whether it can search texts.
    """

    version: str
    needed: str
    is_enough: bool
    has_fts5: bool

    @classmethod
    def here(cls) -> Self:
        """That of this process."""
        with closing(sqlite3.connect(":memory:")) as connection:
            options = {option for (option,) in connection.execute("PRAGMA compile_options")}
        needed = ".".join(map(str, NEEDED))
        return cls(sqlite3.sqlite_version, needed, sqlite3.sqlite_version_info >= NEEDED, "ENABLE_FTS5" in options)


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A file as it is seen from outside: nothing is written, and whoever owns it is not disturbed.

    Attributes:
        path: It, without symbolic links.
        exists: Whether there is a file.
        is_store: Whether it is a store, of whatever version.
        schema: Version of its tables; None if it is no store.
        known_schema: Version of the tables that this stagepost works with.
        oldest_schema: The oldest version that it brings over to that one.
        problem: Why it cannot be read.
        owner: Who owns its runs at this moment: a process and its host; None if nobody does.
        writer: Who writes to it beside the owner at this moment.
        size: Bytes of the file.
        wal_size: Bytes of what is not copied into the file yet.
        free: Bytes that are free where it is; None if its folder does not exist.
    """

    path: Path
    exists: bool
    is_store: bool
    schema: int | None
    known_schema: int
    oldest_schema: int
    problem: str | None
    owner: str | None
    writer: str | None
    size: int
    wal_size: int
    free: int | None

    @classmethod
    def at(cls, given: str | os.PathLike[str]) -> Self:
        """Look at a file, whether there is one or not."""
        path, _ = resolve(given)
        exists = path.is_file()
        marker, version, problem = _marks(path) if exists else (None, None, None)
        is_store = marker == APPLICATION_ID
        return cls(
            path=path,
            exists=exists,
            is_store=is_store,
            schema=version if is_store else None,
            known_schema=VERSION,
            oldest_schema=OLDEST,
            problem=problem,
            owner=_holder(lock_of(path)),
            writer=_holder(inbox_lock_of(path)),
            size=_size(path),
            wal_size=_size(path.with_name(f"{path.name}-wal")),
            free=shutil.disk_usage(path.parent).free if path.parent.is_dir() else None,
        )


def _marks(path: Path) -> tuple[int | None, int | None, str | None]:
    """What marks a database as a store, its version, and why that cannot be read."""
    try:
        with closing(sqlite3.connect(read_only(path), uri=True)) as connection:
            (marker,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        return None, None, str(translate_read(error, path))
    return marker, version, None


def _holder(lock: Path) -> str | None:
    try:
        return held_by(lock)
    except (OSError, CheckpointError):  # it may not be looked at: then the store cannot be opened either
        return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
