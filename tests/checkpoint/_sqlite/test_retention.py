"""Much is deleted in small pieces, between which others commit; a process that is killed meanwhile leaves no harm."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from anyio import fail_after
from tests.checkpoint._builders import Batches, frame, new_run
from tests.checkpoint._processes import running

from stagepost.checkpoint import Closing, Commit, Item, ItemStatus, Keep, Ref, RunStatus, SqliteStore, StoredValue
from stagepost.checkpoint._sqlite import _retention, _runs

LATER = datetime(3000, 1, 1, tzinfo=UTC)
LONG = 1000  # elements
SCRIPT = """
import os, signal, sys, anyio
from datetime import UTC, datetime
from stagepost.checkpoint import SqliteStore
from stagepost.checkpoint._sqlite import _retention, _runs
from stagepost.checkpoint._sqlite._batch import run_batch

done = 0

def die(connection, batch):
    global done
    outcomes = run_batch(connection, batch)
    done += 1
    if done == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return outcomes

async def main():
    _retention._SLICE = 0
    async with SqliteStore(sys.argv[1], run_batch=die) as store:
        await store.prune(datetime(3000, 1, 1, tzinfo=UTC))

anyio.run(main)
"""


async def finished(store: SqliteStore, run_id: str, elements: int = 0, keep: Keep = Keep.RESULT) -> None:
    """A run that has ended, with a list of its own."""
    values = [StoredValue("", 1, idx, b"%d" % idx) for idx in range(elements)]
    root = frame(1)._replace(refs={"list": Ref(1, elements)} if elements else {})
    run = replace(new_run(run_id), root=root, values=values, keep=keep)
    lease, _ = await store.create(run)
    assert lease is not None
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))


def count(file: Path, table: str) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608  # our own


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction deletes one run, or the elements of one statement."""
    monkeypatch.setattr(_retention, "_SLICE", 0)
    monkeypatch.setattr(_runs, "_REST", 0)


@pytest.mark.usefixtures("hurried")
async def test_a_transaction_deletes_no_more_than_it_has_time_for(file: Path) -> None:
    batches = Batches()
    async with SqliteStore(file, run_batch=batches) as store:
        for number in range(5):
            await finished(store, f"run-{number}")
        before = len(batches.sizes)
        assert await store.prune(LATER, limit=3) == 3
        assert len(batches.sizes) - before == 4  # one each, and what they have left
        assert await store.prune(LATER) == 2
        assert await store.prune(LATER) == 0
        assert await store.verify() == []


@pytest.mark.usefixtures("hurried")
async def test_elements_of_a_long_list_are_deleted_in_slices_that_nobody_sees(file: Path) -> None:
    left = list[int]()
    batches = Batches(lambda connection: left.append(connection.execute("SELECT count(*) FROM elements").fetchone()[0]))
    async with SqliteStore(file, run_batch=batches) as store:
        for number in range(2):
            await finished(store, f"run-{number}", elements=LONG)
        left.clear()
        await store.delete("run-0")
        assert left == [2 * LONG, *range(2 * LONG, LONG, -50), LONG]  # the run, then its elements
        assert len((await store.load("run-1")).root.state["list"]) > LONG
        assert await store.prune(LATER) == 1
        assert (count(file, "elements"), count(file, "leavings")) == (0, 0)


@pytest.mark.usefixtures("hurried")
async def test_a_run_that_keeps_nothing_leaves_no_elements(file: Path) -> None:
    async with SqliteStore(file) as store:
        await finished(store, "run", elements=LONG, keep=Keep.NONE)
        assert (count(file, "elements"), count(file, "leavings"), count(file, "runs")) == (0, 0, 0)


@pytest.mark.parametrize("transactions", [1, 3, 7])
async def test_sigkill_in_prune_leaves_whole_runs_and_the_next_prune_goes_on(file: Path, transactions: int) -> None:
    async with SqliteStore(file) as store:
        for number in range(4):
            await finished(store, f"run-{number}", elements=LONG)
    with fail_after(30):
        async with running(SCRIPT, file, transactions) as other:
            await other.process.wait()
    async with SqliteStore(file) as store:
        kept = [run.run_id for run in (await store.find()).items]
        assert kept == [f"run-{number}" for number in range(min(transactions, 4), 4)]
        assert await store.verify() == []
        assert await store.prune(LATER) == len(kept)
        assert await store.verify() == []
    assert [count(file, table) for table in ("runs", "lists", "elements", "leavings")] == [0, 0, 0, 0]


@pytest.mark.usefixtures("hurried")
async def test_the_file_does_not_grow_under_retention(file: Path) -> None:
    sizes = list[int]()
    for generation in range(6):
        async with SqliteStore(file) as store:
            for number in range(20):
                await finished(store, f"run-{generation}-{number}", elements=20)
            await store.prune(LATER)
        sizes.append(pages(file))
    assert max(sizes[2:]) <= max(sizes[:2])


def pages(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("PRAGMA page_count").fetchone()[0])


async def large(store: SqliteStore, run_id: str, items: int = 0) -> None:
    """A run that has ended, with many rows and a large value."""
    root = frame(1)._replace(refs={"far": Ref(1)})
    new = replace(new_run(run_id), root=root, values=[StoredValue("", 1, None, b"7")], keep=Keep.ALL)
    lease, _ = await store.create(replace(new, labels={"customer": run_id}))
    assert lease is not None
    frozen = [Item("fan", 0, idx, ItemStatus.WAITING, b"%d" % idx) for idx in range(items)]
    await store.commit(Commit(lease=lease, frozen=frozen))
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.FAILED, "why")))


def rows_of_runs(file: Path) -> int:
    tables = ("frames", "items", "vals", "history", "labels", "leavings", "runs")
    return sum(count(file, table) for table in tables)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("is_pruned", [True, False], ids=["pruned", "deleted"])
async def test_rows_of_a_large_run_are_deleted_in_slices_that_nobody_sees(file: Path, *, is_pruned: bool) -> None:
    left = list[int]()
    batches = Batches(lambda connection: left.append(connection.execute("SELECT count(*) FROM items").fetchone()[0]))
    async with SqliteStore(file, run_batch=batches) as store:
        for run_id in ("a", "b"):
            await large(store, run_id, items=220 if run_id == "a" else 0)
        left.clear()
        if is_pruned:
            await store.prune(LATER, limit=1)
        else:
            await store.delete("a")
        assert max(before - after for before, after in pairwise(left)) <= 50
        assert [run.run_id for run in (await store.find()).items] == ["b"]
        assert await store.verify() == []
    assert count(file, "items") == 0


@pytest.mark.parametrize("transactions", [1, 2, 4])
async def test_sigkill_while_rows_of_a_run_are_deleted_leaves_nothing_that_others_stumble_over(
    file: Path, transactions: int
) -> None:
    async with SqliteStore(file) as store:
        await large(store, "a", items=220)
    with fail_after(30):
        async with running(SCRIPT, file, transactions) as other:
            await other.process.wait()
    assert count(file, "items") > 0
    async with SqliteStore(file) as store:
        assert (await store.find()).items == ()
        assert (await store.waits()).items == ()
        assert await store.verify() == []
        await large(store, "a", items=3)  # the id is free, and the new run has its own rows only
        assert len((await store.load("a")).items) == 3
        await store.delete("a")
    assert rows_of_runs(file) == 0


async def test_a_run_whose_rows_take_no_time_is_deleted_in_one_transaction(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_retention, "_SLICE", 60)
    batches = Batches()
    async with SqliteStore(file, run_batch=batches) as store:
        await large(store, "a", items=3)
        before = len(batches.sizes)
        await store.delete("a")
        assert len(batches.sizes) == before + 1
    assert rows_of_runs(file) == 0
