"""Schedules on an SQLite file: what somebody has changed by hand, and how they are found."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stagepost.checkpoint import CorruptStore, SqliteStore, StoredSchedule
from stagepost.checkpoint._sqlite._schedules import next_query

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "change", ["created_at = 9223372036854775807", "last_run = CAST(x'ff' AS TEXT)"], ids=["time", "text"]
)
async def test_a_schedule_that_makes_no_sense_is_said_to_be_damaged(tmp_path: Path, change: str) -> None:
    path = tmp_path / "runs.db"
    async with SqliteStore(path) as store:
        await store.save_schedule(StoredSchedule("key", "work", b"{}", NOON, NOON, NOON))
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE schedules SET {change}")  # noqa: S608  # of a test
    connection.close()
    async with SqliteStore(path) as store:
        with pytest.raises(CorruptStore, match="schedule 'key' makes no sense"):
            await store.schedule("key")


async def test_what_is_due_is_found_by_an_index(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with SqliteStore(path):
        pass
    connection = sqlite3.connect(path)
    query = next_query(1)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query.text}", query.values)]
    connection.close()
    assert len(plan) == 1  # nothing is sorted
    assert "USING INDEX schedules_look" in plan[0]
