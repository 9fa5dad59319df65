"""Whatever column of whatever table is damaged: it concerns what the row belongs to, and everything else goes on."""

import gzip
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, NamedTuple

import pytest
from tests.checkpoint._builders import new_run, save
from tests.golden._making import golden

from stagepost.checkpoint import CheckpointError, MemoryStore, Page, RunStatus, StoredSchedule
from stagepost.checkpoint._sqlite._connect import connect_memory

NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
ODD: Final = {"INTEGER": str(2**62), "TEXT": "CAST(x'ff' AS TEXT)", "BLOB": "x'7b'"}
RUNS: Final = ("items", "fold", "talk", "answer", "effect", "branch")  # of the golden store: with rows in each table
STRUCTURE: Final = ("failures", "sqlite_", "meta")  # the index of words, SQLite's own, and who owns the file

_MICROS: Final = round(NOON.timestamp() * 1_000_000)
_SCHEDULE: Final = """
INSERT INTO schedules
(key, workflow, definition, due_at, look_at, created_at, paused, revision, last_run, missed, failures, error)
VALUES (?, 'work', ?, ?, ?, ?, 0, 1, 'run', 0, 0, 'why')
"""


class Column(NamedTuple):
    """A column of a table, with the names of its key."""

    table: str
    name: str
    type: str
    key: str

    def __str__(self) -> str:
        return f"{self.table}.{self.name}"


@cache
def contents() -> bytes:
    """A store with rows in its tables, as a killed process has left it, and with schedules."""
    data = bytearray(gzip.decompress(golden("0.2.0").read_bytes()))
    data[18:20] = b"\x01\x01"  # no WAL, which a database in memory cannot have
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.deserialize(bytes(data))
        others = " AND ".join(f"run_id <> '{run_id}' AND run_id NOT LIKE '{run_id}.%'" for run_id in RUNS)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"DELETE FROM runs WHERE {others}")  # noqa: S608  # of a test, as all here
        for key in ("a", "z"):
            connection.execute(_SCHEDULE, (key, b"{}", *[_MICROS] * 3))
            connection.execute("INSERT INTO admissions (counted, at) VALUES (?, ?)", (key, _MICROS))
        return connection.serialize()


@cache
def columns() -> Mapping[str, Sequence[Column]]:
    """Those of all tables, by these."""
    with closing(connect_memory()) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {table: _columns(connection, table) for table in tables if not table.startswith(STRUCTURE)}


def _columns(connection: sqlite3.Connection, table: str) -> Sequence[Column]:
    info = connection.execute(f"PRAGMA table_info({table})").fetchall()
    key = ", ".join(name for _, name, _, _, _, place in info if place)
    return [Column(table, name, type_, key) for _, name, type_, *_ in info]


@asynccontextmanager
async def damaged(column: Column | None) -> AsyncIterator[MemoryStore]:
    """The store, with the first row of a table damaged."""
    store = MemoryStore(owners=2)
    store._kept = contents()
    async with store:
        if column is not None:
            assert store._connection is not None
            store._connection.execute("PRAGMA ignore_check_constraints = ON")
            store._connection.execute("PRAGMA foreign_keys = OFF")
            first = f"SELECT {column.key} FROM {column.table} ORDER BY {column.key} LIMIT 1"  # noqa: S608
            store._connection.execute(
                f"UPDATE {column.table} SET {column.name} = {ODD[column.type]} WHERE ({column.key}) IN ({first})"  # noqa: S608
            )
            store._connection.execute("PRAGMA foreign_keys = ON")
        yield store


async def paged(read: Callable[..., Any], **options: Any) -> list[Any]:
    """All that can be read, page by page."""
    items, after = list[Any](), None
    while True:
        page: Page[Any] = await read(after=after, limit=5, **options)
        items += page.items
        if page.next in (None, after):
            return items
        after = page.next


async def seen(store: MemoryStore) -> Mapping[str, set[object]]:
    """What can be read of a store."""
    runs = [run.run_id for run in await paged(store.find)]
    return {
        "runs": set(runs),
        "newest first": {run.run_id for run in await paged(store.find, newest_first=True)},
        "by status": {run.run_id for status in RunStatus for run in await paged(store.find, status=status)},
        "as stored": {run.run_id for run in await paged(store.stored)},
        "waits": {wait.run_id for wait in await paged(store.waits)},
        "schedules": {each.key for each in await paged(store.schedules)},
        "due": {each.key for each in (await store.due_schedules(NOON)).items},
        "counted": {name for name, _ in await store.admissions(NOON)},
        "whole": {run_id for run_id in runs if await is_whole(store, run_id)},
    }


async def is_whole(store: MemoryStore, run_id: str) -> bool:
    """Whether all of a run can be read."""
    try:
        await store.load(run_id)
        await store.history(run_id)
        await store.happenings(run_id)
        await store.signals(run_id)
        await store.news(run_id, 0)
    except CheckpointError:
        return False
    return True


async def work(store: MemoryStore) -> None:
    """What runners do all the time, with other runs."""
    owner = await store.join("other")
    await paged(lambda **options: store.acquire(owner, **options))
    lease, _ = await store.create(new_run("new"))
    assert lease is not None
    await store.commit(save(lease, 2))
    await store.save_schedule(StoredSchedule("new", "work", b"{}", NOON, NOON, NOON))
    await store.admit(["new"], NOON, before=NOON)
    await store.expire(NOON.timestamp())
    await store.prune(NOON)
    await store.prune_keys(NOON)
    await store.count(by="status")


async def test_the_store_has_what_is_to_be_damaged() -> None:
    async with damaged(None) as store:
        found = await seen(store)
        assert len(found["runs"]) >= len(RUNS)
        assert all(len(each) > 1 for each in found.values())
        assert await store.verify() == []


@pytest.mark.parametrize("table", columns())
async def test_a_damaged_row_concerns_what_it_belongs_to_and_nothing_else(table: str) -> None:
    async with damaged(None) as store:
        before = await seen(store)
    for column in columns()[table]:
        async with damaged(column) as store:
            now = await seen(store)
            lost = {what: before[what] - now[what] for what in before}
            assert all(len(each) <= 1 for each in lost.values()), (column, lost)
            await store.verify()
            await work(store)
