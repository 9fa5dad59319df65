"""All runs of a store are read a page at a time, and who waits for that is told how far it has come."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from tests.checkpoint._builders import new_run

from stagepost.checkpoint import Closing, Commit, CorruptRun, MemoryStore, RunStatus, Snapshot, SqliteStore

T = TypeVar("T")


class Counting(SqliteStore):
    """Counts how often it is asked."""

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self.looks = 0
        self.loads = list[str]()

    async def _examine(self, look: Callable[[sqlite3.Connection], T]) -> T:
        self.looks += 1
        return await super()._examine(look)

    async def load(self, run_id: str, *, at: int | None = None) -> Snapshot:
        self.loads.append(run_id)
        return await super().load(run_id, at=at)


class Forgetting(Counting):
    """Whose damaged run is deleted as soon as it was found."""

    async def _examine(self, look: Callable[[sqlite3.Connection], T]) -> T:
        found = await super()._examine(look)
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("DELETE FROM runs WHERE run_id = 'run-7'")
        return found


async def fill(store: SqliteStore | MemoryStore, runs: int) -> None:
    for number in range(runs):
        lease, _ = await store.create(new_run(f"run-{number}"))
        assert lease is not None
        await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))


def damage(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE frames SET state = x'7b' WHERE rk = (SELECT rk FROM runs WHERE run_id = 'run-7')")


async def test_runs_are_read_a_page_at_a_time_and_only_damaged_ones_twice(file: Path) -> None:
    async with Counting(file) as store:
        await fill(store, 250)
        assert await store.verify() == []
        assert (store.looks, store.loads) == (3, [])
        damage(file)
        (error,) = await store.verify()
        assert isinstance(error, CorruptRun)
        assert (error.run_id, store.loads) == ("run-7", ["run-7"])


async def test_whoever_waits_is_told_how_many_runs_were_read(file: Path) -> None:
    seen = list[tuple[int, int]]()

    async def tell(done: int, total: int) -> None:
        seen.append((done, total))

    async with SqliteStore(file) as store:
        assert await store.verify(progress=tell) == []
        await fill(store, 150)
        await store.verify(progress=tell)
        async with SqliteStore.reader(file) as reader:
            await reader.verify(progress=tell)
    async with MemoryStore() as memory:
        await fill(memory, 3)
        await memory.verify(progress=tell)
    assert seen == [(100, 150), (150, 150), (100, 150), (150, 150), (3, 3)]


async def test_a_run_that_is_deleted_while_it_is_checked_is_not_named(file: Path) -> None:
    async with Forgetting(file) as store:
        await fill(store, 10)
        damage(file)
        assert await store.verify() == []
        assert store.loads == ["run-7"]
