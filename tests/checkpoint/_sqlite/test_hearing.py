"""What the owner of a file hears of, from whom, and what it costs to listen."""

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from tests.checkpoint._builders import new_run, sqlite_error
from tests.checkpoint._sqlite.test_inbox import begun, owned

from stagepost.checkpoint import Freed, News, Owner, RunNotFound, SqliteStore, StoreClosed, StoreFailed
from stagepost.checkpoint._sqlite import _owners
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch


async def test_an_owner_that_hears_nothing_takes_next_to_no_processor(file: Path) -> None:
    with fail_after(20):
        async with owned(file) as (store, me), anyio.create_task_group() as tasks:

            async def listen() -> None:
                async for change in store.changes(me):
                    pytest.fail(f"{change} is told, and nobody has written")

            tasks.start_soon(listen)
            await anyio.sleep(0.7)  # until the WAL has been copied
            assert min([await share_of_a_processor(0.5) for _ in range(4)]) < 0.02
            tasks.cancel_scope.cancel()


async def share_of_a_processor(seconds: float) -> float:
    """What the process has used of one meanwhile, threads that other tests have left and collections included."""
    began, used = time.monotonic(), time.process_time()
    await anyio.sleep(seconds)
    return (time.process_time() - used) / (time.monotonic() - began)


async def test_what_another_program_writes_is_looked_at_and_is_no_news(file: Path) -> None:
    with fail_after(20):
        async with owned(file) as (store, me):
            await begun(store, me)
            changes = store.changes(me)
            with closing(sqlite3.connect(file, isolation_level=None)) as connection:
                connection.execute("CREATE TABLE theirs (x)")
                connection.execute("UPDATE runs SET trace = 'theirs'")
            with anyio.move_on_after(0.5):
                pytest.fail(f"{await anext(changes)} is told")


async def test_a_run_whose_id_is_damaged_keeps_no_other_from_being_told(file: Path) -> None:
    with fail_after(20):
        async with owned(file) as (store, me):
            for run_id in ("bad", "good"):
                await begun(store, me, run_id)
                await store.signal(run_id, "news", b"1")
            with closing(sqlite3.connect(file, isolation_level=None)) as connection:
                connection.execute("UPDATE runs SET run_id = CAST(x'ff' AS TEXT) WHERE run_id = 'bad'")
            changes = store.changes(me)
            assert {await anext(changes), await anext(changes)} == {News("\udcff", 1), News("good", 1)}


async def test_whoever_has_left_is_told_nothing_and_the_thread_rests(file: Path) -> None:
    with fail_after(20):
        async with SqliteStore(file) as store:
            first = await store.join("first")
            changes = store.changes(first)
            await begun(store, first, "run", "a")
            await store.answer("run", "a", b"1")
            assert await anext(changes) == News("run", 1)
            await store.leave(first)
            assert [change async for change in changes] == []
            second = await store.join("second")
            assert await anext(store.changes(second)) == Freed("run", 1)


async def test_a_store_that_is_left_tells_nothing_more(file: Path) -> None:
    with fail_after(20):
        store = SqliteStore(file)
        async with store:
            me = await store.join("me")
            changes, later = store.changes(me), store.changes(me)
        with pytest.raises(StoreClosed):
            await anext(changes)
        with pytest.raises(StoreClosed):
            await anext(later)
        store.changes(me)
        with pytest.raises(StoreClosed):
            await store.leave(me)
        async with store:
            assert await store.heartbeat(me) is False
            await store.join("again")


async def test_a_disk_that_fails_while_nobody_commits_is_left_to_the_next_commit(file: Path) -> None:
    failing: list[str] = []

    def fail(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        outcomes = run_batch(connection, batch)
        if failing:
            connection.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)
        return outcomes

    with fail_after(20):
        async with SqliteStore(file, run_batch=fail) as store:
            me = await store.join("me")
            changes = store.changes(me)
            await begun(store, me)
            await store.signal("run", "news", b"1")
            assert await anext(changes) == News("run", 1)
            await store.heard(me, {"run": 1})
            with anyio.move_on_after(0.5):
                await anext(changes)  # it may have been told again before that
            failing.append("now")
            await store.signal("run", "news", b"2")
            with anyio.move_on_after(0.5):
                pytest.fail(f"{await anext(changes)} is told")
            assert (await store.info("run")).news == 2


async def test_a_store_that_has_failed_is_asked_for_no_news(file: Path) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        raise sqlite_error(sqlite3.SQLITE_IOERR, "disk I/O error")

    with fail_after(20):
        async with owned(file) as (store, me):
            changes = store.changes(me)
            with anyio.move_on_after(0.1):
                await anext(changes)
            with pytest.raises(StoreFailed):
                await store._write(fail)
            with anyio.move_on_after(0.3):
                pytest.fail(f"{await anext(changes)} is told")


async def test_news_of_a_run_that_is_unknown_are_not_found(file: Path) -> None:
    async with SqliteStore(file) as store:
        with pytest.raises(RunNotFound):
            await store.news("unknown", 0)
        lease, _ = await store.create(replace(new_run("run"), owner=Owner(7, "gone").id))
        assert lease is not None
        assert lease.owner == 7


async def test_news_are_found_by_their_index(file: Path) -> None:
    async with SqliteStore(file):
        pass
    with closing(sqlite3.connect(file)) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {_owners._CHANGES}", (1,))]
    assert plan[0] == "SCAN runs USING INDEX runs_news"
