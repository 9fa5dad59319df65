"""Made-up later versions of the tables, and a process that is killed while it brings a file over.

Version + 1 adds a column, a table and an index; version + 2 makes the table of runs anew, to which others refer.
"""

import os
import re
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Final

from stagepost.checkpoint import SqliteStore
from stagepost.checkpoint._sqlite._connect import connector
from stagepost.checkpoint._sqlite._ddl import TABLES
from stagepost.checkpoint._sqlite._schema import SCHEMA, UPGRADES, VERSION, Schema, Upgrade

MOODS: Final = "CREATE TABLE moods (rk INTEGER PRIMARY KEY, mood TEXT) STRICT"
INDEX: Final = "CREATE INDEX moods_mood ON moods (mood)"
_RUNS: Final = re.compile(r"CREATE TABLE runs \(.*?\n\) STRICT", re.DOTALL)
_BLOBS: Final = re.compile(r"(CREATE TABLE blobs \(.*?)(\n\) STRICT)", re.DOTALL)


def add(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE blobs ADD COLUMN mood TEXT")
    connection.execute(MOODS)
    connection.execute("INSERT INTO moods SELECT rk, 'glad' FROM runs")
    connection.execute(INDEX)


def remake(connection: sqlite3.Connection) -> None:
    """As SQLite's manual says: a new table gets the rows and the name of the old one."""
    beside = "SELECT sql FROM sqlite_master WHERE tbl_name = 'runs' AND type IN ('index', 'trigger') AND sql NOT NULL"
    statements = [sql for (sql,) in connection.execute(beside)]
    connection.execute(_remade().replace("CREATE TABLE runs", "CREATE TABLE runs_new"))
    connection.execute("INSERT INTO runs_new SELECT *, 'none' FROM runs")
    connection.execute("DROP TABLE runs")
    connection.execute("ALTER TABLE runs_new RENAME TO runs")
    for statement in statements:
        connection.execute(statement)


def _remade() -> str:
    found = _RUNS.search(TABLES)
    assert found is not None
    bare = re.sub(r"\s*--[^\n]*", "", found[0])
    return bare.replace("\n) STRICT", ",\n  plan TEXT NOT NULL DEFAULT 'none'\n) STRICT")


def later(*upgrades: Upgrade) -> Schema:
    """The tables after these upgrades, of which there are two."""
    tables = _BLOBS.sub(r"\1,\n  mood TEXT -- how it feels\2", re.sub(r"( *--[^\n]*)(\n\) STRICT)", r"\2", TABLES))
    tables += f"{MOODS};\n{INDEX};\n"
    if len(upgrades) > 1:
        tables = _RUNS.sub(lambda _: _remade(), tables)
    known = {**UPGRADES, **{VERSION + number: each for number, each in enumerate(upgrades)}}
    return Schema(VERSION + len(upgrades), tables, MappingProxyType(known))


class Next(SqliteStore):
    """The store of the next version."""

    _schema: ClassVar[Schema] = later(add)


class Later(SqliteStore):
    """The store of the version after that."""

    _schema: ClassVar[Schema] = later(add, remake)


class Twin(SqliteStore):
    """The store of this version, as another process has it."""

    _schema: ClassVar[Schema] = SCHEMA


def version_of(file: Path) -> int:
    connection = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dies_after(upgrade: Upgrade) -> Callable[[sqlite3.Connection], None]:
    def run(connection: sqlite3.Connection) -> None:
        upgrade(connection)
        die()

    return run


if __name__ == "__main__":
    place, where = Path(sys.argv[1]), sys.argv[2]
    if where == "between":
        connector(place, "power", schema=later(add, die))()
    elif where == "at the end":
        connector(place, "power", die, schema=later(add, remake))()
    else:
        connector(place, "power", schema=later(add, remake))()
        die()
