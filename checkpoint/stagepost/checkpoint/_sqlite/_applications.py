"""Statements on tables of the application: checked once, then executed inside of the store's transactions.

A statement is compiled under an authorizer that lets it read everything and write nothing but tables of the
application. To set an authorizer makes SQLite compile all statements anew, so what was checked is not checked again,
unless it changes tables: what CREATE … IF NOT EXISTS does depends on what there is.

Of virtual tables only those of FTS5 are allowed. They keep what they write in tables whose names begin with their own.
"""

import sqlite3
from collections.abc import Sequence
from typing import Final

from .._table_errors import StatementFailed, StatementRefused
from .._tables import PREFIX, Statement

_READS: Final = (sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
_ROWS: Final = (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
_TABLES: Final = (sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_REINDEX)
_INDEXES: Final = (sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_DROP_INDEX)  # their table is the second argument
_VIRTUAL: Final = (sqlite3.SQLITE_CREATE_VTABLE, sqlite3.SQLITE_DROP_VTABLE)  # their module is the second argument
_MODULE: Final = "fts5"
_OWN: Final = ("sqlite_master", "sqlite_sequence")  # what SQLite writes for a table that is made or dropped
_THEIRS: Final = (0, 1, 18, 19, 20, 23, 25)  # codes of errors that the statement has made: syntax, constraints, types
_CORRUPT_INDEX: Final = 267  # SQLITE_CORRUPT_VTAB: somebody has written to the tables in which FTS5 keeps its index
_ERRORS: Final = (sqlite3.Error, ValueError, OverflowError)  # the last two: what no column can hold
_STRANGE: Final = f"""
SELECT sqlite_master.name, keys."table" FROM sqlite_master, pragma_foreign_key_list(sqlite_master.name) AS keys
WHERE type = 'table' AND substr(sqlite_master.name, 1, {len(PREFIX)}) = '{PREFIX}'
AND substr(lower(keys."table"), 1, {len(PREFIX)}) <> '{PREFIX}'
"""


class Checked:
    """The texts that are known to change rows of the application's tables only; one for each store."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def changes_tables(self, connection: sqlite3.Connection, statement: Statement) -> bool:
        """Whether a statement changes tables themselves, not their rows.

        Raises:
            StatementRefused: It does what it must not.
            StatementFailed: It is no SQL, or there is no such table.
        """
        if statement.text in self._known:
            return False
        if _check(connection, statement):
            return True
        self._known.add(statement.text)
        return False


class Application:
    """Some statements, to be executed inside of a transaction.

    Args:
        statements: They.
        checked: What is known of statements.
    """

    def __init__(self, statements: Sequence[Statement], checked: Checked) -> None:
        self._statements = statements
        self._checked = checked

    def __call__(self, connection: sqlite3.Connection) -> None:
        """Execute them.

        Raises:
            StatementRefused: One does what it must not.
            StatementFailed: One is not what SQLite or a table accepts.
        """
        for statement in self._statements:
            try:
                changes_tables = self._checked.changes_tables(connection, statement)
                connection.execute(statement.text, statement.values).fetchall()
            except StatementRefused:
                raise
            except _ERRORS as error:
                if not _is_its_own(error):
                    raise
                raise StatementFailed(statement.text, str(error)) from error
            if changes_tables:
                _check_references(connection, statement.text)


class _Guard:
    """An authorizer.

    Attributes:
        refused: What it has refused, if anything.
        changes_tables: Whether it has seen that tables are made or changed.
    """

    def __init__(self) -> None:
        self.refused: str | None = None
        self.changes_tables = False

    def __call__(
        self,
        action: int,
        first: str | None,
        second: str | None,
        database: str | None,
        _trigger: str | None,
    ) -> int:
        if action in _READS or self._may(action, first or "", second or "", database):
            return sqlite3.SQLITE_OK
        self.refused = self.refused or first or second or "this"
        return sqlite3.SQLITE_DENY

    def _may(self, action: int, first: str, second: str, database: str | None) -> bool:
        if action == sqlite3.SQLITE_PRAGMA:  # asked by FTS5 when it opens its tables
            return (first, second) == ("data_version", "")
        if database not in (None, "main"):
            return action == sqlite3.SQLITE_ALTER_TABLE and _is_theirs(second)
        if action in _ROWS or action in _TABLES:
            self.changes_tables |= action in _TABLES or first in _OWN
            return _is_theirs(first) or first in _OWN
        if action in _VIRTUAL:
            return _is_theirs(first) and second.lower() == _MODULE
        if action == sqlite3.SQLITE_ALTER_TABLE:
            self.changes_tables = True
            return _is_theirs(second)
        return action in _INDEXES and _is_theirs(second) and _is_theirs_or_automatic(first)


def _is_theirs(name: str) -> bool:
    return name.lower().startswith(PREFIX)


def _is_theirs_or_automatic(name: str) -> bool:
    return _is_theirs(name) or name.startswith("sqlite_autoindex_")


def _check(connection: sqlite3.Connection, statement: Statement) -> bool:
    text = statement.text
    if "rollback" in text.lower():
        raise StatementRefused(text, "it names ROLLBACK, which would undo what others commit with it")
    guard = _Guard()
    connection.set_authorizer(guard)
    try:
        connection.execute(f"EXPLAIN {text}", statement.values).close()
    except _ERRORS as error:
        if guard.refused is not None:
            raise StatementRefused(text, f"it does more than to write tables {PREFIX}… ({guard.refused})") from error
        raise
    finally:
        connection.set_authorizer(None)
    return guard.changes_tables


def _check_references(connection: sqlite3.Connection, text: str) -> None:
    for table, other in connection.execute(_STRANGE):
        raise StatementRefused(
            text, f"{table} would refer to {other}, so that runs could not be deleted: leave REFERENCES away"
        )


def _is_its_own(error: Exception) -> bool:
    """Whether the statement has made an error, and not the disk."""
    if not isinstance(error, sqlite3.Error):
        return True
    code = getattr(error, "sqlite_errorcode", 0)
    return code == _CORRUPT_INDEX or code & 0xFF in _THEIRS
