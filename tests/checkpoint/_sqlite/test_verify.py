"""All runs of a store are read a page at a time, and who waits for that is told how far it has come."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from anyio import CancelScope
from tests.checkpoint._builders import new_run

from stagepost.checkpoint import Closing, Commit, CorruptRun, MemoryStore, RunStatus, Snapshot, SqliteStore

T = TypeVar("T")


class Counting(MemoryStore):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.loads = list[str]()

    async def _examine(self, look: Callable[[sqlite3.Connection], T]) -> T:
        self.looks += 1
        return await super()._examine(look)

    async def load(self, run_id: str, *, at: int | None = None) -> Snapshot:
        self.loads.append(run_id)
        return await super().load(run_id, at=at)

    async def damage(self) -> None:
        await super()._examine(damage)


class Forgetting(Counting):
    """Whose damaged run is deleted as soon as it was found."""

    async def load(self, run_id: str, *, at: int | None = None) -> Snapshot:
        await self.delete(run_id)
        return await super().load(run_id, at=at)


async def fill(store: SqliteStore | MemoryStore, runs: int) -> None:
    for number in range(runs):
        lease, _ = await store.create(new_run(f"run-{number}"))
        assert lease is not None
        await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))


def damage(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE frames SET state = x'7b' WHERE rk = (SELECT rk FROM runs WHERE run_id = 'run-7')")


async def test_runs_are_read_a_page_at_a_time_and_only_damaged_ones_twice() -> None:
    async with Counting() as store:
        await fill(store, 250)
        assert await store.verify() == []
        assert (store.looks, store.loads) == (3, [])
        await store.damage()
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


async def test_a_run_that_is_deleted_while_it_is_verified_is_not_named() -> None:
    async with Forgetting() as store:
        await fill(store, 10)
        await store.damage()
        assert await store.verify() == []
        assert store.loads == ["run-7"]


async def test_the_store_is_read_and_written_while_it_is_verified(file: Path) -> None:
    """What was begun waits in the callback, in which everything else goes on."""
    began = list[int]()

    async def go_on(done: int, _: int) -> None:
        lease, _info = await store.create(new_run(f"meanwhile-{done}"))
        assert lease is not None
        began.append(len((await store.find(limit=1000)).items))
        await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))

    async with SqliteStore(file) as store:
        await fill(store, 150)
        assert await store.verify(go_on) == []
        assert began[:2] == [151, 152]


async def test_to_verify_can_be_given_up(file: Path) -> None:
    async def give_up(_: int, __: int) -> None:
        scope.cancel()

    async with SqliteStore(file) as store:
        await fill(store, 150)
        with CancelScope() as scope:
            await store.verify(give_up)
        assert scope.cancelled_caught
        assert await store.verify() == []
