"""What a remembered key takes of the file, and of the time of those who start."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.checkpoint._builders import new_run

from stagepost.checkpoint import Closing, Commit, Keep, RunStatus, SqliteStore


def size(file: Path) -> int:
    return file.stat().st_size


async def remember(store: SqliteStore, count: int) -> None:
    for number in range(count):
        run = replace(new_run(f"018f2b6c5d3e-{number:010x}"), workflow="fulfil-order", key=f"order-{number:010}")
        lease, _ = await store.create(replace(run, keep=Keep.NONE, remember_key=True))
        assert lease is not None
        await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))


async def test_a_key_takes_some_two_hundred_bytes(file: Path) -> None:
    async with SqliteStore(file, durability="process"):
        pass
    before = size(file)
    async with SqliteStore(file, durability="process") as store:
        await remember(store, 2_000)
    assert 150 < (size(file) - before) / 2_000 < 300
    async with SqliteStore(file, durability="process") as store:
        assert await store.prune_keys(datetime(3000, 1, 1, tzinfo=UTC), limit=10_000) == 2_000
        await remember(store, 2_000)
    assert (size(file) - before) / 2_000 < 300  # the space is used again


@pytest.mark.parametrize(
    "where", ["workflow = '' AND key = 'a'", "workflow = 'a' AND key = 'a'", "ended_at < 1", "run_id = 'a'"]
)
async def test_a_key_is_looked_for_by_an_index(file: Path, where: str) -> None:
    async with SqliteStore(file):
        pass
    with closing(sqlite3.connect(file)) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT 1 FROM keys WHERE {where}").fetchall()  # noqa: S608  # constants
    assert "SEARCH keys" in str(plan)
