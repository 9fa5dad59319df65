"""How a file becomes a store or is refused."""

import re
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ..errors import NotAStore, SqliteTooOld
from ._ddl import TABLES
from ._error_words import check_fts5

APPLICATION_ID = 0x57A6E905  # marks the file as a store of stagepost; positive, since it is read as a signed number
VERSION = 6  # raise it with every change of the tables
NEEDED = (3, 37, 0)  # STRICT tables

MASTER: Final = "SELECT name, sql FROM sqlite_master"
_STATEMENTS: Final = tuple(statement.strip() for statement in TABLES.split(";\n"))
_NAME: Final = re.compile(r"CREATE (?:UNIQUE |VIRTUAL )?(?:TABLE|INDEX|TRIGGER) (\w+)")
_EXPECTED: Final = {found[1]: statement for statement in _STATEMENTS if (found := _NAME.match(statement))}


def check_version(found: tuple[int, int, int]) -> None:
    """Refuse an SQLite without STRICT tables.

    Raises:
        SqliteTooOld: It is older than 3.37.
    """
    if found < NEEDED:
        raise SqliteTooOld(".".join(map(str, found)), ".".join(map(str, NEEDED)))


def check_known(version: int, tables: Iterable[tuple[str, str | None]], path: Path) -> None:
    """Refuse the tables of another version.

    Args:
        version: The version that the file says.
        tables: What there is in the file: names and statements.
        path: The file.

    Raises:
        NotAStore: They are.
    """
    if version > VERSION:
        raise NotAStore(path, f"its schema is version {version}, this stagepost knows {VERSION}; upgrade stagepost")
    if version < VERSION:
        raise NotAStore(
            path,
            f"its schema is version {version}, that of an older stagepost, and this one knows {VERSION}: before 0.2.0 "
            "no file is brought over; finish its runs with the stagepost that made it, and give another file name",
        )
    found = dict(tables)
    other = [name for name, statement in _EXPECTED.items() if found.get(name) != statement]
    if other:
        raise NotAStore(
            path,
            f"these are not the tables of schema version {VERSION}: {', '.join(other)}; somebody has changed them, or "
            "a development version of stagepost made them: restore a copy, or give another file name",
        )


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make a new file a store, or see that an existing one is.

    Raises:
        NotAStore: It holds something else, or was written by another version.
        SqliteWithoutFts5: SQLite cannot index words.
    """
    try:
        check_fts5(connection)
        connection.execute("BEGIN IMMEDIATE")
        _prepare(connection, path)
        connection.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            raise NotAStore(path, "it is no SQLite database; give another file name") from error
        raise
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    marker = _pragma(connection, "application_id")
    version = _pragma(connection, "user_version")
    if marker == APPLICATION_ID:
        check_known(version, connection.execute(MASTER).fetchall(), path)
        return
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
        raise NotAStore(path, "it is the database of something else; give another file name")
    for statement in _STATEMENTS:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
