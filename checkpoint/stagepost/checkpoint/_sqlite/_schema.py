"""How a file becomes a store, is brought over from an older version, or is refused.

Files of version 6, that of stagepost 0.2.0, and of all later ones are brought over in place by whoever opens them to
own them: in one transaction, which also fences the owner before, so that a file is always of one version as a whole.

Whoever changes the tables raises `VERSION` and adds to `UPGRADES` how a file of the version before becomes one of the
new. Statements are compared without comments and layout, so that these may change; columns that are added to a table
that exists come last, where ALTER TABLE puts them. ``python -m tests.golden`` makes the files that later versions are
tested with.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from stagepost._dataclasses import dataclass

from ..errors import NotAStore, SqliteTooOld
from ._batch import primary_code
from ._ddl import TABLES
from ._error_words import check_fts5
from ._generation import RAISE
from ._leavings import sweep

Upgrade: TypeAlias = Callable[[sqlite3.Connection], None]
"""Brings the tables of a file to the next version, inside of a transaction, while no foreign key is enforced."""

APPLICATION_ID = 0x57A6E905  # marks the file as a store of stagepost; positive, since it is read as a signed number
VERSION = 6  # raise it with every change of the tables
OLDEST: Final = 6  # the version of stagepost 0.2.0
UPGRADES: Final[Mapping[int, Upgrade]] = MappingProxyType({})  # by version: how a file of it becomes one of the next
NEEDED = (3, 37, 0)  # STRICT tables

MASTER: Final = "SELECT name, sql FROM sqlite_master"
_NAME: Final = re.compile(r"CREATE (?:UNIQUE |VIRTUAL )?(?:TABLE|INDEX|TRIGGER) (\w+)")
_COMMENT: Final = re.compile(r"--[^\n]*")
_SPACE: Final = re.compile(r"\s+")
_AROUND: Final = re.compile(r" ?([(),;]) ?")


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a store, as one version of stagepost knows them.

    Attributes:
        version: Their number.
        tables: The statements that make them.
        upgrades: By version: how a file of it becomes one of the next.
    """

    version: int
    tables: str
    upgrades: Mapping[int, Upgrade]

    def statements(self) -> Iterable[str]:
        """What makes a new file a store."""
        return (statement.strip() for statement in self.tables.split(";\n"))

    def check(self, version: int, tables: Iterable[tuple[str, str | None]], path: Path) -> None:
        """Refuse the tables of another version.

        Args:
            version: The version that the file says.
            tables: What there is in the file: names and statements.
            path: The file.

        Raises:
            NotAStore: They are.
        """
        self._check_version(version, path)
        if version < self.version:
            raise NotAStore(
                path,
                f"its schema is version {version}, and this stagepost reads version {self.version}: the file is "
                "brought over when a runner of this stagepost opens it, or SqliteStore(…); until then read it with the "
                "stagepost that made it, or open a copy",
            )
        self._check_tables(dict(tables), path)

    def newer(self, connection: sqlite3.Connection, path: Path) -> NotAStore | None:
        """The refusal of whoever uses a file that a newer stagepost has brought over meanwhile."""
        found = user_version(connection)
        if found <= self.version:  # another database that was written over it is told otherwise
            return None
        return NotAStore(
            path,
            f"a newer stagepost has brought it from schema version {self.version} to {found}; upgrade stagepost",
        )

    def is_upgraded(self, connection: sqlite3.Connection, path: Path, confirm: Callable[[], None]) -> bool:
        """Bring a store of an older version over, in the transaction that is open; False if it is none.

        Args:
            connection: The writing connection.
            path: The file.
            confirm: Called while nobody else can write; raises if the file is not ours to own.

        Raises:
            NotAStore: It cannot be brought over.
        """
        version = user_version(connection)
        if version == self.version:
            return False
        self._check_version(version, path)
        try:
            sweep(connection, inf)  # what runs have left that are gone would be rows that belong to none
            for each in range(version, self.version):
                self.upgrades[each](connection)
        except sqlite3.Error as error:
            if primary_code(error) not in _MISFITS:
                raise
            raise _stuck(path, version, self.version, str(error)) from error
        self._check_tables(dict(connection.execute(MASTER).fetchall()), path)
        broken = connection.execute("PRAGMA foreign_key_check").fetchone()
        if broken is not None:
            raise _stuck(path, version, self.version, f"rows of {broken[0]} belong to no run")
        connection.execute(f"PRAGMA user_version = {self.version}")
        connection.execute(RAISE)  # with the tables: the owner before can commit to neither
        confirm()
        return True

    def _check_version(self, version: int, path: Path) -> None:
        if version > self.version:
            raise NotAStore(
                path, f"its schema is version {version}, this stagepost knows {self.version}; upgrade stagepost"
            )
        if version < OLDEST:
            raise NotAStore(
                path,
                f"its schema is version {version}, that of a stagepost before 0.2.0, and no file of those is brought "
                "over: finish its runs with the stagepost that made it, and give another file name",
            )

    def _check_tables(self, found: Mapping[str, str | None], path: Path) -> None:
        expected = {name[1]: statement for statement in self.statements() if (name := _NAME.match(statement))}
        other = [name for name, statement in expected.items() if not _is_same(found.get(name), statement)]
        if other:
            raise NotAStore(
                path,
                f"these are not the tables of schema version {self.version}: {', '.join(other)}; somebody has changed "
                "them, or a development version of stagepost made them: restore a copy, or give another file name",
            )


SCHEMA: Final = Schema(VERSION, TABLES, UPGRADES)
_MISFITS: Final = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT)  # of a file that is not what it should be


def check_version(found: tuple[int, int, int]) -> None:
    """Refuse an SQLite without STRICT tables.

    Raises:
        SqliteTooOld: It is older than 3.37.
    """
    if found < NEEDED:
        raise SqliteTooOld(".".join(map(str, found)), ".".join(map(str, NEEDED)))


def normal(statement: str) -> str:
    """A statement that makes a table, index or trigger, without comments and layout: SQLite keeps what it was given."""
    bare = _SPACE.sub(" ", _COMMENT.sub("", statement)).replace('"', "").strip()
    return _AROUND.sub(r"\1", bare)


def user_version(connection: sqlite3.Connection) -> int:
    """The version of the schema that a file says."""
    return _pragma(connection, "user_version")


def prepare(
    connection: sqlite3.Connection, path: Path, confirm: Callable[[], None] = lambda: None, schema: Schema = SCHEMA
) -> None:
    """Make a new file a store, see that an existing one is, or bring an older one over.

    Args:
        connection: The writing connection.
        path: The file.
        confirm: Called before an older file is changed; raises if it is not ours to own.
        schema: The tables.

    Raises:
        NotAStore: It holds something else, or was written by another version.
        SqliteWithoutFts5: SQLite cannot index words.
    """
    try:
        check_fts5(connection)
        with _unchecked(connection, schema):
            connection.execute("BEGIN IMMEDIATE")
            _prepare(connection, path, confirm, schema)
            connection.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            raise NotAStore(path, "it is no SQLite database; give another file name") from error
        raise


@contextmanager
def _unchecked(connection: sqlite3.Connection, schema: Schema) -> Iterator[None]:
    """A transaction's surroundings: of an older file tables may be made anew, which foreign keys refer to."""
    is_older = user_version(connection) < schema.version
    if is_older:  # before the transaction, inside of which the first one cannot be set
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("PRAGMA legacy_alter_table = ON")  # triggers of other tables may name one that is made anew
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # the WAL is copied by the owner only
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if is_older:
            connection.execute("PRAGMA legacy_alter_table = OFF")
            connection.execute("PRAGMA foreign_keys = ON")


def _prepare(connection: sqlite3.Connection, path: Path, confirm: Callable[[], None], schema: Schema) -> None:
    marker = _pragma(connection, "application_id")
    if marker == APPLICATION_ID:
        if not schema.is_upgraded(connection, path, confirm):
            schema.check(schema.version, connection.execute(MASTER).fetchall(), path)
        return
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
        raise NotAStore(path, "it is the database of something else; give another file name")
    for statement in schema.statements():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {schema.version}")


def _is_same(found: str | None, expected: str) -> bool:
    return found is not None and (found == expected or normal(found) == normal(expected))


def _stuck(path: Path, version: int, wanted: int, why: str) -> NotAStore:
    return NotAStore(
        path,
        f"it cannot be brought from schema version {version} to {wanted}: {why}; somebody has changed it by hand. "
        "Nothing of it was changed now: restore a copy, or give another file name",
    )


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
