"""Connections: how they are opened and set up, and that the answers are what was asked for."""

import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

from ..errors import NotAStore, StoreNotWritable
from ._faults import BUSY_TIMEOUT, TRY, translate
from ._generation import OwnedConnection, begin_generation, open_known
from ._keys import add_digest
from ._queries import as_text
from ._schema import SCHEMA, Schema, check_version, prepare
from ._together import prepare_together

Connection: TypeAlias = sqlite3.Connection
Durability: TypeAlias = Literal["power", "process"]

MEMORY = Path(":memory:")
LARGEST_WAL = 8 * 1024 * 1024  # bytes; once copied, a WAL is cut to this, so that a larger one tells what is not copied
_NOTED: Final = "SELECT value FROM meta WHERE name = 'synchronous'"
_NOTE: Final = "INSERT OR REPLACE INTO meta VALUES ('synchronous', ?)"
_SYNCHRONOUS: dict[Durability, int] = {"power": 2, "process": 1}  # FULL and NORMAL


def create_file(path: Path) -> None:
    """Make the database file, readable by its owner only, unless it is there.

    A file that is there is not even opened: closing it would drop the locks of this process's other connections.

    Raises:
        StoreNotWritable: The folder is missing or refuses, or the path is a folder.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if path.is_dir():
            raise StoreNotWritable(path, "Is a directory") from None
    except OSError as error:
        raise StoreNotWritable(path, error.strerror or str(error)) from error


def read_only(path: Path) -> str:
    """SQLite's URI for reading a database that another connection writes."""
    return f"{path.absolute().as_uri()}?mode=ro"


def connector(
    path: Path,
    durability: Durability,
    confirm: Callable[[], None] = lambda: None,
    *,
    name: Path | None = None,
    schema: Schema = SCHEMA,
) -> Callable[[], sqlite3.Connection]:
    """A function that opens the writing connection, in the thread that calls it, and fences the owners before.

    Args:
        path: The file.
        durability: What a commit shall survive.
        confirm: Called while nobody else can write; raises if the file is not ours to own.
        name: The path that it was asked for by, if that is a symbolic link.
        schema: The tables that the file has to have, or gets.
    """

    def open_it() -> OwnedConnection:
        return sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT, factory=OwnedConnection)

    def connect() -> sqlite3.Connection:
        check_version(sqlite3.sqlite_version_info)
        create_file(path)
        try:
            connection, files = open_known(path, name or path, open_it)
        except OSError as error:
            raise StoreNotWritable(path, error.strerror or str(error)) from error
        except sqlite3.Error as error:
            raise translate(error, path) from error
        try:
            restrict(connection)
            prepare(connection, path, confirm, schema)  # before WAL, which would change the file of another application
            _set_up(connection, path, durability)
            begin_generation(connection, files, confirm)
            note_durability(connection, durability)
            prepare_together(connection)
            connection.execute(f"PRAGMA busy_timeout = {round(TRY * 1000)}")
        except sqlite3.Error as error:
            connection.close()
            raise translate(error, path) from error
        except BaseException:
            connection.close()
            raise
        return connection

    return connect


def note_durability(connection: sqlite3.Connection, durability: Durability) -> None:
    """Write down what a commit shall survive, for those who write beside the owner."""
    wanted = _SYNCHRONOUS[durability]
    if synchronous(connection) != wanted:
        connection.execute(_NOTE, (wanted,))


def synchronous(connection: sqlite3.Connection) -> int:
    """How the commits of a file's owner are synchronized, or of the last one that it had, as SQLite counts."""
    found = connection.execute(_NOTED).fetchone()
    return _SYNCHRONOUS["power"] if found is None else int(found[0])


def connect_memory(content: bytes | None = None) -> sqlite3.Connection:
    """A private database in memory with the same tables.

    Args:
        content: What one before held, as it was serialized.
    """
    check_version(sqlite3.sqlite_version_info)
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.text_factory = as_text
    restrict(connection)
    if content is None:
        with closing(sqlite3.connect(":memory:")) as empty:
            empty.deserialize(_empty())
            empty.backup(connection)  # what is deserialized into cannot grow beyond a gigabyte
    else:
        connection.deserialize(content)
    return connection


@lru_cache(maxsize=1)
def _empty() -> bytes:
    """A store without runs: to make its tables takes ten times as long as to copy them."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        restrict(connection)
        prepare(connection, MEMORY)
        return connection.serialize()


def restrict(connection: sqlite3.Connection) -> None:
    """Trust nothing that somebody may have put into the file."""
    add_digest(connection)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA secure_delete = FAST")  # ON, some systems' default, writes zeros over all that is freed


def _set_up(connection: sqlite3.Connection, path: Path, durability: Durability) -> None:
    mode = _ask(connection, "journal_mode = WAL")
    if mode != "wal":
        raise NotAStore(path, f"its file system refuses WAL (SQLite answers {mode!r}); give a file on a local disk")
    connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[durability]}")
    answer = _ask(connection, "synchronous")
    if answer != _SYNCHRONOUS[durability]:
        raise NotAStore(path, f"SQLite refuses durability {durability!r} (synchronous is {answer})")
    leave_wal(connection)


def leave_wal(connection: sqlite3.Connection) -> None:
    """Let commits write to the WAL only, which the owner copies when it is idle."""
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(f"PRAGMA journal_size_limit = {LARGEST_WAL}")
    if sys.platform == "darwin":
        connection.execute("PRAGMA fullfsync = ON")  # fsync alone leaves data in the drive's cache


def _ask(connection: sqlite3.Connection, pragma: str) -> object:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]
