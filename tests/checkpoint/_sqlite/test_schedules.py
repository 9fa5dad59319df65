"""Schedules on an SQLite file: what somebody has changed by hand, and how they are found."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stagepost.checkpoint import CorruptSchedule, SqliteStore, StoredSchedule
from stagepost.checkpoint._sqlite import _verifying
from stagepost.checkpoint._sqlite._schedules import next_query

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


DAMAGE = {
    "created_at": "created_at = 9223372036854775807",
    "due_at": "due_at = -9223372036854775807",
    "look_at": "look_at = -9223372036854775807",
    "text": "last_run = CAST(x'ff' AS TEXT)",
    "revision": "revision = 9223372036854775807",
    "definition": "definition = x'7b'",
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
async def test_a_schedule_that_makes_no_sense_is_named_and_hides_no_other(tmp_path: Path, change: str) -> None:
    path = tmp_path / "runs.db"
    async with SqliteStore(path) as store:
        for key in ("bad-1", "bad-2", "good"):
            await store.save_schedule(StoredSchedule(key, "work", b"{}", NOON, NOON, NOON))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE schedules SET {change} WHERE key <> 'good'")  # noqa: S608  # of a test
    async with SqliteStore(path) as store:
        with pytest.raises(CorruptSchedule, match="schedule 'bad-1' cannot be used"):
            await store.schedule("bad-1")
        page = await store.schedules(limit=1)
        assert ([error.reason for error in page.damaged] != [], page.items, page.next) == (True, (), "bad-1")
        page = await store.schedules(after="bad-1")
        assert (len(page.damaged), [each.key for each in page.items]) == (1, ["good"])
        due = await store.due_schedules(NOON, limit=1)
        assert ([each.key for each in due.items], due.following, len(due.damaged)) == (["good"], None, 2)
        assert [type(error) for error in await store.verify()] == [CorruptSchedule] * 2
        await store.delete_schedule("bad-1")
        await store.delete_schedule("bad-2")
        assert await store.verify() == []


async def test_damaged_schedules_of_every_page_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_verifying, "_PAGE", 1)
    path = tmp_path / "runs.db"
    async with SqliteStore(path) as store:
        for key in ("bad-1", "good", "bad-2"):
            await store.save_schedule(StoredSchedule(key, "work", b"{}", NOON, NOON, NOON))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE schedules SET definition = x'7b' WHERE key <> 'good'")
    async with SqliteStore.reader(path) as reader:
        assert [type(error) for error in await reader.verify()] == [CorruptSchedule] * 2


async def test_a_key_that_is_no_text_can_be_listed_and_deleted(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with SqliteStore(path) as store:
        for key in ("bad", "good"):
            await store.save_schedule(StoredSchedule(key, "work", b"{}", NOON, NOON, NOON))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE schedules SET key = CAST(x'41ff' AS TEXT) WHERE key = 'bad'")
    async with SqliteStore(path) as store:
        page = await store.schedules(limit=1)
        (error,) = page.damaged
        assert isinstance(error, CorruptSchedule)
        assert [each.key for each in (await store.schedules(after=page.next)).items] == ["good"]
        await store.delete_schedule(error.key)
        assert (await store.schedules()).damaged == ()


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
