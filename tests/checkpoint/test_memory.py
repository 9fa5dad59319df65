import asyncio
import importlib.util
import sqlite3
from dataclasses import replace

import pytest
from anyio import fail_after, move_on_after

from stagepost.checkpoint import (
    Closing,
    Commit,
    Frame,
    Item,
    ItemStatus,
    MemoryStore,
    NewRun,
    Owner,
    RunNotFound,
    Statement,
    StoreClosed,
    StoreError,
)

RUN = NewRun("run", "digest", 1, None, b"{}", 0, Frame("", 1, "load", {"x": b"1"}))

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


def test_trio_is_there_so_that_no_test_of_it_is_skipped(anyio_backend: str) -> None:
    assert importlib.util.find_spec(anyio_backend) is not None


async def test_each_backend_really_runs(anyio_backend: str) -> None:
    try:
        running = asyncio.get_running_loop() is not None
    except RuntimeError:
        running = False
    assert running == (anyio_backend == "asyncio")


async def test_contents_survive_leaving_and_entering_again() -> None:
    store = MemoryStore(clock=lambda: 1.5)
    with fail_after(5):
        async with store:
            _, info = await store.create(RUN)
        async with store:
            assert (await store.load("run")).run == info
    assert info.created_at.timestamp() == 1.5


async def test_whoever_waits_for_the_end_of_the_store_is_told() -> None:
    store = MemoryStore()
    assert isinstance(await store.failure(), StoreClosed)
    with fail_after(5):
        for _ in range(2):
            async with store:
                with move_on_after(0):
                    await store.failure()
                    pytest.fail("it has not ended")
            assert isinstance(await store.failure(), StoreClosed)


async def test_two_stores_share_no_tables() -> None:
    async with MemoryStore() as store, MemoryStore() as other:
        await store.execute(Statement("CREATE TABLE app_notes (text TEXT)"))
        await other.execute(Statement("CREATE TABLE app_notes (text TEXT)"))
    async with MemoryStore() as later:
        await later.execute(Statement("CREATE TABLE app_notes (text TEXT)"))


async def test_a_store_that_is_entered_again_is_set_up_as_a_new_one() -> None:
    store = MemoryStore()
    for _ in range(3):
        async with store:
            assert store._connection is not None
            for pragma in ("foreign_keys", "application_id", "user_version"):
                assert store._connection.execute(f"PRAGMA {pragma}").fetchone() != (0,)


async def test_contents_are_gone_with_the_object() -> None:
    async with MemoryStore() as store:
        await store.create(RUN)
    async with MemoryStore() as other:
        with pytest.raises(RunNotFound):
            await other.load("run")


async def test_a_store_that_is_not_entered_refuses_everything() -> None:
    store = MemoryStore()
    async with store:
        lease, _ = await store.create(RUN)
    assert lease is not None
    for call in (
        lambda: store.create(RUN),
        lambda: store.claim(Owner(1, "me"), "run"),
        lambda: store.commit(Commit(lease=lease, closing=Closing(ItemStatus.FAILED))),  # type: ignore[arg-type]  # unused
        lambda: store.load("run"),
        store.find,
    ):
        with pytest.raises(StoreClosed, match="in memory"):
            await call()
    with pytest.raises(StoreClosed):
        await store.join("runner")


async def test_what_sqlite_refuses_is_a_store_error_and_harms_nothing() -> None:
    async with MemoryStore() as store:
        lease, _ = await store.create(RUN)
        assert lease is not None
        odd = Item("fan", 0, 0, ItemStatus.WAITING, "text, no bytes")  # type: ignore[arg-type]  # the point of it
        with pytest.raises(StoreError, match="cannot store TEXT value in BLOB column"):
            await store.commit(Commit(lease=lease, frozen=[odd]))
        assert (await store.load("run")).items == ()


async def test_a_bug_in_a_request_leaves_no_transaction_open() -> None:
    async with MemoryStore() as store:
        with pytest.raises(AttributeError):
            await store.create(None)  # type: ignore[arg-type]  # the bug
        await store.create(RUN)


async def test_a_damaged_run_is_named_by_whoever_acquires_it_and_others_are_not_concerned() -> None:
    with fail_after(5):
        async with MemoryStore(owners=2) as store:
            for run_id in ("a", "bad", "c"):
                await store.create(replace(RUN, run_id=run_id))
            assert store._connection is not None
            store._connection.execute("UPDATE runs SET keep = 'result', input = x'ff' WHERE run_id = 'bad'")
            page = await store.acquire(await store.join("me"), limit=3)
            assert ([run.run_id for run in page.items], page.next) == (["a", "c"], "c")
            assert [error.run_id for error in page.damaged] == ["bad"]


async def test_an_old_sqlite_is_refused_on_entering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(StoreError, match=r"SQLite 3\.36\.0 is too old"):
        async with MemoryStore():
            pass


async def test_each_commit_changes_the_version_of_the_data() -> None:
    async with MemoryStore() as store:
        before = await store.data_version()
        assert await store.data_version() == before
        await store.execute(
            Statement("CREATE TABLE app_notes (text TEXT)"), Statement("INSERT INTO app_notes VALUES (1)")
        )
        assert await store.data_version() != before
