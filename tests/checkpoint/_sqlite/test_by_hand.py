"""What people do to the file by hand: what is found of it, and what `check` says."""

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from anyio import fail_after
from tests.checkpoint._builders import claimed, new_run, save
from tests.checkpoint._sqlite.test_damage import full_run

from stagepost.checkpoint import (
    CheckpointError,
    Closing,
    Commit,
    CorruptRun,
    CorruptStore,
    Effect,
    EffectStatus,
    NewWait,
    OrphanedRows,
    RunStatus,
    SqliteStore,
    UnusedLists,
    WaitKind,
)

TABLES = ("attempts", "effects", "frames", "history", "items", "labels", "list_refs", "signals", "vals", "waits")


def by_hand(file: Path, *statements: str) -> None:
    """As in SQLite's shell, where foreign keys are off."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in "; ".join(statements).split("; "):
            assert connection.execute(statement).rowcount


async def filled(file: Path, *run_ids: str) -> None:
    """A store of runs with rows in every table."""
    async with SqliteStore(file) as store:
        for run_id in run_ids:
            await full_run(store, run_id)
            await store.signal(run_id, "name", b"1")
    told = "rk, number, kind, place, path, seq, next, visits, width, state, refs, epoch, saved_at"
    versions = "SELECT rk, 1, 'frame', path, path, seq, next, visits, width, state, refs, 1, 0 FROM frames"
    begun = "INSERT INTO attempts (rk, place, kind, attempt, begun) SELECT rk, 'a', 'step', 1, 0 FROM runs"
    by_hand(file, f"INSERT INTO history ({told}) {versions}", begun)


async def found(file: Path) -> Sequence[CheckpointError]:
    with fail_after(10):
        async with SqliteStore(file) as store, SqliteStore.reader(file) as reader:
            here, there = await store.check(), await reader.check()
            assert list(map(str, here)) == list(map(str, there))
            return here


async def test_rows_of_runs_that_were_deleted_by_hand_are_told_by_table(file: Path) -> None:
    await filled(file, "a", "b", "c")
    assert await found(file) == []
    by_hand(file, "DELETE FROM runs WHERE run_id <> 'b'")
    errors = await found(file)
    assert [(error.table, error.runs) for error in errors if isinstance(error, OrphanedRows)] == [
        (table, 2) for table in TABLES
    ]
    (vals,) = (error for error in errors if isinstance(error, OrphanedRows) and error.table == "vals")
    assert vals.rows == 2
    assert "2 rows of the table 'vals' belong to no run" in str(vals)
    by_hand(file, *(str(error).rpartition("run `")[2].rstrip("`") for error in errors))
    assert await found(file) == []


async def test_lists_that_nothing_refers_to_are_told_together(file: Path) -> None:
    await filled(file, "a")
    by_hand(
        file,
        "INSERT INTO elements VALUES (97, 1, 0, x'31', 0), (98, 1, 0, x'31', 0), (98, 1, 1, x'32', 0)",
        "INSERT INTO lists (maker, number) VALUES (98, 1)",
    )
    (error,) = await found(file)
    assert isinstance(error, UnusedLists)
    assert (error.count, error.elements, error.run_id) == (2, 3, None)
    assert "2 lists (3 elements) belong to no run" in str(error)
    by_hand(file, str(error).rpartition("run `")[2].rstrip("`"))
    assert await found(file) == []


@pytest.mark.parametrize("statement", ["DELETE FROM runs", "DELETE FROM runs WHERE run_id = 'second'"])
async def test_a_new_run_inherits_nothing_of_one_that_was_deleted_by_hand(file: Path, statement: str) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store:
            for run_id in ("first", "second"):
                lease, _ = await store.create(new_run(run_id))
                assert lease is not None
                await store.commit(Commit(lease=lease, effects=[Effect("pay", "once", EffectStatus.DONE, b'"paid"')]))
                await store.wait(lease, NewWait("ask", WaitKind.ANSWER, "ask"))
        by_hand(file, statement)
        async with SqliteStore(file) as store:
            lease, _ = await store.create(new_run("third"))
            assert lease is not None
            snapshot = await store.load("third")
            assert (snapshot.effects, snapshot.waits) == ((), ())
            await store.commit(save(lease, 2))


async def test_a_lease_of_a_deleted_run_is_none_of_a_later_one(file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store:
            old, _ = await store.create(new_run("old"))
            assert old is not None
            await store.commit(Commit(lease=old, closing=Closing(RunStatus.COMPLETED)))
            await store.delete("old")
            await store.create(new_run("new"))
            with pytest.raises(CheckpointError):
                await store.commit(save(old, 2, stolen=b"1"))
            assert (await store.load("new")).root.seq == 1


CHANGES = {
    "an end without a time": ("UPDATE runs SET status = 'completed' WHERE run_id = 'bad'", "completed"),
    "a failure without a time": ("UPDATE runs SET status = 'failed' WHERE run_id = 'bad'", "failed"),
    "an open run with the time of its end": ("UPDATE runs SET finished_at = 1 WHERE run_id = 'bad'", "running"),
    "a rest without a wait": ("UPDATE runs SET status = 'waiting' WHERE run_id = 'bad'", "waiting"),
    "no frame": ("DELETE FROM frames WHERE rk = (SELECT rk FROM runs WHERE run_id = 'bad')", "first frame is gone"),
}


@pytest.mark.parametrize(("statement", "reason"), CHANGES.values(), ids=CHANGES)
async def test_a_run_that_was_changed_by_hand_is_named(file: Path, statement: str, reason: str) -> None:
    async with SqliteStore(file) as store:
        for run_id in ("a", "bad", "c"):
            await store.create(new_run(run_id))
    by_hand(file, statement)
    (error,) = await found(file)
    assert isinstance(error, CorruptRun)
    assert error.run_id == "bad"
    assert reason in error.reason


async def parked(store: SqliteStore, run_id: str, due_at: datetime) -> None:
    lease, _ = await store.create(new_run(run_id))
    assert lease is not None
    await store.wait(lease, NewWait("ask", WaitKind.ANSWER, "ask", due_at=due_at))
    assert await store.park(lease, 0)


@pytest.mark.parametrize("due_at", [2**62, -(2**62), 253_402_300_800_000_000])
async def test_a_time_that_is_none_holds_up_no_other_wait(file: Path, due_at: int) -> None:
    async with SqliteStore(file) as store:
        for run_id in ("bad", "due"):
            await parked(store, run_id, datetime(2026, 1, 1, tzinfo=UTC))
        by_hand(file, f"UPDATE waits SET due_at = {due_at} WHERE id = 'bad/ask'")  # noqa: S608  # our own numbers
        assert await store.expire(datetime(2026, 1, 2, tzinfo=UTC).timestamp(), 10) is None
        assert (await store.info("due")).status is RunStatus.RUNNING
        with pytest.raises(CorruptRun, match="'bad'"):
            await store.load("bad")


async def test_what_stays_of_a_run_is_checked_when_it_is_claimed(file: Path) -> None:
    async with SqliteStore(file) as store:
        await store.create(new_run("bad"))
        by_hand(file, "PRAGMA ignore_check_constraints = 1; UPDATE runs SET keep = 'x'")
        with pytest.raises(CorruptRun, match="'bad'"):
            await claimed(store, "bad")
        await store.create(new_run("other"))


async def test_runs_that_were_left_alone_are_not_named(file: Path) -> None:
    async with SqliteStore(file) as store:
        for status in (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.DEAD):
            lease, _ = await store.create(new_run(status.value))
            assert lease is not None
            await store.commit(Commit(lease=lease, closing=Closing(status)))
        lease, _ = await store.create(new_run("parked"))
        assert lease is not None
        await store.wait(lease, NewWait("ask", WaitKind.ANSWER, "ask"))
        assert await store.park(lease, 0)
        await store.create(new_run("running"))
    assert await found(file) == []


INDEX = "UPDATE sqlite_master SET sql = replace(sql, '{}', '{}') WHERE name = 'runs_ended'"


async def test_an_index_that_does_not_fit_its_table_is_told(file: Path) -> None:
    await filled(file, "a", "b")
    by_hand(file, "PRAGMA writable_schema = ON", INDEX.format("IS NOT NULL", "= 0"))
    by_hand(file, "UPDATE runs SET status = 'failed', finished_at = 1 WHERE run_id = 'a'")
    by_hand(file, "PRAGMA writable_schema = ON", INDEX.format("= 0", "IS NOT NULL"))
    errors = await found(file)
    assert errors
    assert all(isinstance(error, CorruptStore) and "runs_ended" in error.reason for error in errors)


async def test_vacuum_harms_nothing(file: Path) -> None:
    await filled(file, "a", "b")
    by_hand(file, "DELETE FROM runs WHERE run_id = 'a'", "VACUUM")
    async with SqliteStore(file) as store:
        before = await store.load("b")
    by_hand(file, "VACUUM")
    async with SqliteStore(file) as store:
        assert await store.load("b") == before
        lease, _ = await store.create(new_run("c"))
        assert lease is not None
        assert lease.row > 2


async def test_a_copy_of_the_file_alone_holds_what_was_last_copied_into_it(file: Path) -> None:
    copy = file.with_name("copy.db")
    await filled(file, "a")
    async with SqliteStore(file) as store:
        await full_run(store, "b")
        shutil.copy(file, copy)
    assert await found(copy) == []
    async with SqliteStore(copy) as store:
        assert [run.run_id for run in (await store.find()).items] == ["a"]


async def test_a_copy_by_sqlite_of_a_file_in_use_holds_all(file: Path) -> None:
    copy = file.with_name("copy.db")
    async with SqliteStore(file) as store:
        await full_run(store, "a")
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        assert await found(copy) == []
        async with SqliteStore(copy) as other:
            assert await other.load("a") == await store.load("a")


async def test_an_older_copy_is_as_the_store_was_then(file: Path) -> None:
    copy = file.with_name("copy.db")
    await filled(file, "a")
    shutil.copy(file, copy)
    async with SqliteStore(file) as store:
        await full_run(store, "b")
    shutil.copy(copy, file)
    assert await found(file) == []
    async with SqliteStore(file) as store:
        assert [run.run_id for run in (await store.find()).items] == ["a"]
        await full_run(store, "c")
