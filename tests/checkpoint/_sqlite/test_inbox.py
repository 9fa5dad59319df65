"""Writing beside the owner of a file, from this process or another one."""

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from tests.checkpoint._builders import new_run, save
from tests.checkpoint._users import as_nobody

from stagepost.checkpoint import (
    AlreadyAnswered,
    Cancelled,
    Change,
    Commit,
    Effect,
    EffectStatus,
    Freed,
    Lease,
    Limits,
    News,
    NewWait,
    NotAStore,
    Owner,
    RunStatus,
    SqliteStore,
    StoreClosed,
    StoreLost,
    StoreNotReadable,
    StoreNotWritable,
    WaitKind,
)
from stagepost.checkpoint._sqlite import _connect, _inbox_store


async def begun(store: SqliteStore, owner: Owner, run_id: str = "run", *places: str) -> Lease:
    """The lease of a run that waits for answers."""
    lease, _ = await store.create(replace(new_run(run_id), owner=owner.id))
    assert lease is not None
    for place in places:
        await store.wait(lease, NewWait(place, WaitKind.ANSWER, "name"))
    return lease


async def told(changes: AsyncIterator[Change], wanted: Change) -> None:
    async for change in changes:
        if change == wanted:
            return


@asynccontextmanager
async def owned(file: Path) -> AsyncIterator[tuple[SqliteStore, Owner]]:
    async with SqliteStore(file) as store:
        yield store, await store.join("me")


async def test_whatever_is_written_beside_the_owner_is_told_to_it(file: Path) -> None:
    with fail_after(10):
        async with owned(file) as (store, me), SqliteStore.inbox(file) as inbox:
            changes = store.changes(me)
            lease = await begun(store, me, "run", "a", "b")
            await store.wait(lease, NewWait("doubt", WaitKind.EFFECT, "key"))
            await store.commit(Commit(lease=lease, effects=[Effect("doubt", "key", EffectStatus.INTENT)]))
            await inbox.answer("run", "a", b"1", by="Ada")
            await told(changes, News("run", 1))
            assert await inbox.signal("run", "news", b"2") is True
            await told(changes, News("run", 2))
            await inbox.settle("run", "doubt", "key", b"3")
            await told(changes, News("run", 3))
            await inbox.cancel("run")
            await told(changes, Cancelled("run", 4))
            assert [wait.value for wait in (await store.news("run", 0)).waits] == [b"1", b"3"]


async def test_the_version_of_the_data_changes_with_each_commit_and_only_then(file: Path) -> None:
    async with owned(file) as (store, me), SqliteStore.inbox(file) as inbox:
        lease = await begun(store, me, "run", "a")
        versions = [await each.data_version() for each in (store, inbox)]
        assert [await each.data_version() for each in (store, inbox)] == versions
        await store.commit(save(lease, 2))
        after = [await each.data_version() for each in (store, inbox)]
        assert [one != other for one, other in zip(versions, after, strict=True)] == [True, True]


async def test_a_parked_run_is_freed_by_an_answer_beside_the_owner(file: Path) -> None:
    with fail_after(10):
        async with owned(file) as (store, me), SqliteStore.inbox(file) as inbox:
            changes = store.changes(me)
            assert await store.park(await begun(store, me, "run", "a"), 0)
            assert [wait.run_id for wait in (await inbox.waits()).items] == ["run"]
            await inbox.answer("run", "a", b"1")
            await told(changes, Freed("run", 1))
            assert (await inbox.info("run")).status is RunStatus.RUNNING


async def test_an_owner_that_commits_without_pause_hears_others_too(file: Path) -> None:
    with fail_after(20):
        async with owned(file) as (store, me), SqliteStore.inbox(file) as inbox, anyio.create_task_group() as tasks:
            changes = store.changes(me)
            busy, lease = await begun(store, me, "busy"), await begun(store, me, "run", "a")

            async def commit() -> None:
                for seq in range(2, 1_000_000):
                    await store.commit(save(busy, seq))
                    await checkpoint()

            tasks.start_soon(commit)
            await inbox.answer("run", "a", b"1")
            await told(changes, News("run", 1))
            tasks.cancel_scope.cancel()
    assert lease.epoch == 1


async def test_what_is_written_while_there_is_no_owner_is_told_to_the_next_one(file: Path) -> None:
    with fail_after(10):
        async with owned(file) as (store, me):
            lease = await begun(store, me, "run", "a")
            await store.park(lease, 0)
        async with SqliteStore.inbox(file) as inbox:
            await inbox.answer("run", "a", b"1")
        async with owned(file) as (store, me):
            await told(store.changes(me), Freed("run", 1))


async def test_a_refusal_is_that_of_the_store(file: Path) -> None:
    with fail_after(10):
        async with owned(file) as (store, me), SqliteStore.inbox(file) as inbox:
            await begun(store, me, "run", "a")
            await store.answer("run", "a", b"1")
            with pytest.raises(AlreadyAnswered):
                await inbox.answer("run", "a", b"2")
            assert [wait.value for wait in (await inbox.news("run", 0)).waits] == [b"1"]


async def test_the_inbox_checks_the_file_as_its_owner_does(file: Path) -> None:
    async with owned(file) as (store, me):
        await begun(store, me, "run", "a")
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE runs SET finished_at = 1")
        async with SqliteStore.inbox(file) as inbox:
            found = await inbox.verify()
            assert [str(damage) for damage in found] == [str(damage) for damage in await store.verify()]
            assert "has the time of an end" in str(found[0])


async def test_writing_beside_the_owner_raises_no_generation_and_leaves_the_wal_to_the_owner(file: Path) -> None:
    with fail_after(10):
        async with owned(file) as (store, me), SqliteStore.inbox(file) as inbox:
            for number in range(3):
                await begun(store, me, f"run-{number}", "a")
                await inbox.answer(f"run-{number}", "a", b"1")
            generation = "SELECT value FROM meta WHERE name = 'generation'"
            with closing(sqlite3.connect(file)) as connection:
                assert connection.execute(generation).fetchone() == (1,)
        wal = file.with_name(f"{file.name}-wal")
        async with SqliteStore.inbox(file) as inbox:
            await inbox.signal("run-0", "news", b"1")
        assert wal.stat().st_size > 0
        async with SqliteStore(file) as store:
            assert len((await store.signals("run-0")).items) == 1
        assert sorted(path.name for path in file.parent.iterdir()) == [
            "runs.db",
            "runs.db.inbox.lock",
            "runs.db.lock",
        ]


@pytest.mark.parametrize(("durability", "synchronous"), [("power", 2), ("process", 1)])
async def test_what_is_written_beside_the_owner_survives_what_its_commits_survive(
    file: Path, durability: _connect.Durability, synchronous: int
) -> None:
    with fail_after(10):
        async with SqliteStore(file, durability=durability) as store:
            me = await store.join("me")
            await begun(store, me)
            async with SqliteStore.inbox(file) as inbox:
                await inbox.signal("run", "news", b"1")
                assert await _asked(inbox) == synchronous
        other: _connect.Durability = "power" if durability == "process" else "process"
        async with SqliteStore.inbox(file) as inbox, SqliteStore(file, durability=other):
            await inbox.signal("run", "news", b"1")
            assert await _asked(inbox) == 3 - synchronous


async def _asked(inbox: _inbox_store.SqliteInbox) -> int:
    """How SQLite synchronizes its commits."""
    return await inbox._sink.write(lambda connection: int(connection.execute("PRAGMA synchronous").fetchone()[0]))


async def test_an_owner_that_wants_to_lose_less_is_not_overtaken(file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file, durability="process") as store:
            await begun(store, await store.join("me"))
            async with SqliteStore.inbox(file) as inbox:
                await inbox._sink.write(lambda connection: setattr(connection, "synchronous", 7))
                await inbox.signal("run", "news", b"1")
                assert await _asked(inbox) == 1


async def test_the_inbox_opens_only_what_is_a_store(file: Path) -> None:
    with pytest.raises(StoreNotReadable, match="there is no such file"):
        async with SqliteStore.inbox(file):
            pass
    assert list(file.parent.iterdir()) == []
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(NotAStore, match="no store was ever opened on it"):
        async with SqliteStore.inbox(file):
            pass


async def test_an_inbox_that_was_left_refuses(file: Path) -> None:
    async with owned(file) as (store, me):
        await begun(store, me)
        async with SqliteStore.inbox(file, max_value=7) as inbox:
            assert inbox.limits == Limits(refuse=7)
        with pytest.raises(StoreClosed):
            await inbox.signal("run", "news", b"1")


async def test_a_file_that_was_replaced_takes_nothing_beside_its_owner(file: Path) -> None:
    with fail_after(10):
        async with owned(file) as (store, me):
            await begun(store, me, "run", "a")
        async with SqliteStore.inbox(file) as inbox:
            await inbox.signal("run", "news", b"1")
            shutil.copy(file, file.with_name("copy.db"))
            file.with_name("copy.db").replace(file)
            for _ in range(2):
                with pytest.raises(StoreLost, match="another file has taken its place"):
                    await inbox.answer("run", "a", b"1")
            with pytest.raises(StoreLost):
                await inbox.info("run")


async def test_a_user_who_may_only_read_is_told_when_writing(public: Path) -> None:
    file = public / "runs.db"
    with fail_after(20):
        async with owned(file) as (store, me):
            await begun(store, me, "run", "a")
            for name, mode in (("", 0o644), ("-wal", 0o644), ("-shm", 0o666)):
                file.with_name(f"{file.name}{name}").chmod(mode)
            with as_nobody():
                async with SqliteStore.inbox(file) as inbox:
                    assert (await inbox.info("run")).news == 0
                    with pytest.raises(StoreNotWritable):
                        await inbox.answer("run", "a", b"1")
