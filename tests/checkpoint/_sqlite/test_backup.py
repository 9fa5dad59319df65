"""A backup of a store that is in use equals one moment of it, and is there as a whole or not at all."""

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio import CancelScope, fail_after
from anyio.lowlevel import checkpoint
from tests.checkpoint._builders import claimed, new_run, save, sqlite_error, started
from tests.checkpoint._processes import running

from stagepost.checkpoint import (
    BackupExists,
    BackupFailed,
    SqliteStore,
    StoreClosed,
    StoreLost,
    StoreReader,
)
from stagepost.checkpoint._sqlite import _backup, _thread
from stagepost.checkpoint._sqlite._backup import back_up, partial_of

FILL = b'"' + b"x" * 2000 + b'"'
SCRIPT = """
import sys, anyio
from stagepost.checkpoint import SqliteStore

async def tell(done, total):
    print("copying", flush=True)
    await anyio.sleep_forever()

async def main():
    async with SqliteStore.reader(sys.argv[1]) as reader:
        await reader.backup(sys.argv[2], tell)

anyio.run(main)
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tmp_path / "copy.db"


def files(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def size(path: Path) -> int:
    return path.stat().st_size


def mode(path: Path) -> str:
    return oct(path.stat().st_mode)[-3:]


async def fill(store: SqliteStore, runs: int = 600) -> None:
    """More than is copied at once."""
    async with anyio.create_task_group() as tasks:
        for number in range(runs):
            tasks.start_soon(store.create, replace(new_run(f"run-{number}"), input=FILL))


class Pair:
    """Two runs that somebody goes on with in turn: at each moment the first one is at most one version ahead."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.acknowledged = 1
        self._gone_on = anyio.Event()

    async def begin(self) -> None:
        self._leases = [await started(self.store, name) for name in ("first", "second")]

    async def go_on(self) -> None:
        while True:
            for lease in self._leases:
                await self.store.commit(save(lease, self.acknowledged + 1, fill=FILL))
            self.acknowledged += 1
            self._gone_on.set()
            self._gone_on = anyio.Event()
            await checkpoint()  # a commit itself is never given up

    async def has_gone_on(self) -> None:
        with fail_after(20):
            await self._gone_on.wait()


@pytest.mark.parametrize("by", ["owner", "reader"])
async def test_a_backup_under_load_is_one_moment_of_the_store_and_its_runs_go_on(
    file: Path, copy: Path, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_backup, "_SYNC", 1_000_000)
    told = list[tuple[int, int, int]]()
    async with SqliteStore(file) as store, SqliteStore.reader(file) as reader:
        pair = Pair(store)
        await pair.begin()
        await fill(store)
        before = pair.acknowledged

        async def go_on(done: int, total: int) -> None:
            await pair.has_gone_on()  # so that somebody has written in between each time
            told.append((done, total, pair.acknowledged))

        source: SqliteStore | StoreReader = store if by == "owner" else reader
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pair.go_on)
            await source.backup(copy, go_on)
            tasks.cancel_scope.cancel()
        assert len(told) > 1
        assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})
        assert told[-1][:2] == (size(copy), size(copy))
    async with SqliteStore(copy) as restored:
        first, second = [(await restored.load(name)).root.seq for name in ("first", "second")]
        assert before <= second <= first <= second + 1
        assert first < told[-1][2]  # what was written meanwhile is not in it
        assert len((await restored.find(limit=1000)).items) == 602
        assert await restored.verify() == []
        await restored.commit(save(await claimed(restored, "first"), first + 1))


async def test_while_a_backup_holds_up_the_copying_of_the_wal_that_is_tried_seldom(
    file: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = list[str]()
    monkeypatch.setattr(_thread, "LARGEST_WAL", 100_000)
    monkeypatch.setattr(_thread, "copy_wal", lambda _, mode: tries.append(mode))

    async def go_on(_: int, __: int) -> None:
        for seq in range(2, 42):
            await store.commit(save(lease, seq, fill=FILL))

    async with SqliteStore(file) as store:
        lease = await started(store)
        await store.backup(copy, go_on)
        assert 2 <= len(tries) <= 20  # of forty commits, each of which adds some eight kilobytes
    assert tries[-1] == "TRUNCATE"


async def test_a_backup_is_a_file_of_its_own(file: Path, copy: Path) -> None:
    async with SqliteStore(file) as store:
        await started(store)
        await store.backup(copy)
        assert files(file.parent) == {"runs.db", "runs.db-wal", "runs.db-shm", "runs.db.lock", "copy.db"}
        assert mode(copy) == "600"
        async with SqliteStore(copy) as restored:
            lease = await claimed(restored)
            await restored.commit(save(lease, 2))
        with pytest.raises(BackupExists, match=r"copy\.db exists.*overwrite=True"):
            await store.backup(copy)
        await store.backup(copy, overwrite=True)
        async with SqliteStore.reader(copy) as reader:
            assert (await reader.load("run")).root.seq == 1


async def test_an_owner_notices_that_a_backup_was_written_over_its_file(file: Path, copy: Path) -> None:
    async with SqliteStore(file) as store:
        lease = await started(store)
        await store.backup(copy)
        shutil.copy(copy, file)
        with pytest.raises(StoreLost):
            await store.commit(save(lease, 2))


async def test_a_backup_is_refused_where_it_would_destroy_something(file: Path, copy: Path, tmp_path: Path) -> None:
    async with SqliteStore(file) as store:
        await started(store)
        with pytest.raises(BackupFailed, match="it is a store that process"):
            await store.backup(file, overwrite=True)
        with pytest.raises(BackupFailed, match="it is a folder"):
            await store.backup(tmp_path, overwrite=True)
        with pytest.raises(BackupFailed, match="No such file"):
            await store.backup(tmp_path / "none" / "copy.db")
        (tmp_path / "copy.db-wal").write_bytes(b"frames")
        with pytest.raises(BackupFailed, match=r"copy\.db-wal belongs to a file that was not closed"):
            await store.backup(copy)
    with pytest.raises(StoreClosed):
        await store.backup(tmp_path / "another.db")


async def test_two_backups_to_one_path_do_not_meet(file: Path, copy: Path) -> None:
    async def again(_: int, __: int) -> None:
        with pytest.raises(BackupFailed, match="another backup to it is being made"):
            await store.backup(copy)

    async with SqliteStore(file) as store:
        await started(store)
        await store.backup(copy, again)
    assert copy.name in files(file.parent)


@pytest.mark.parametrize("waits", [True, False])
async def test_a_backup_that_is_given_up_leaves_nothing(file: Path, copy: Path, *, waits: bool) -> None:
    async def give_up(_: int, __: int) -> None:
        assert partial_of(copy).exists()
        scope.cancel()
        if waits:
            await checkpoint()

    async with SqliteStore(file) as store:
        await fill(store)
        with CancelScope() as scope:
            await store.backup(copy, give_up)
        assert scope.cancelled_caught
        assert files(file.parent) == {"runs.db", "runs.db-wal", "runs.db-shm", "runs.db.lock"}


async def test_what_the_callback_raises_ends_the_backup(file: Path, copy: Path) -> None:
    async def fail(_: int, __: int) -> None:
        raise ZeroDivisionError

    async with SqliteStore(file) as store:
        await started(store)
        with pytest.raises(ZeroDivisionError):
            await store.backup(copy, fail)
    assert copy.name not in files(file.parent)


FAULTS = {
    "full for SQLite": (sqlite_error(sqlite3.SQLITE_FULL, "database or disk is full"), "the disk is full: free some"),
    "full for us": (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "the disk is full: free some space"),
    "broken for SQLite": (sqlite_error(sqlite3.SQLITE_IOERR, "disk I/O error"), "disk I/O error"),
    "broken for us": (OSError(errno.EIO, os.strerror(errno.EIO)), os.strerror(errno.EIO)),
    "without a number": (OSError("it is gone"), "it is gone"),
}


@pytest.mark.parametrize(("fault", "why"), FAULTS.values(), ids=FAULTS)
async def test_a_disk_that_takes_no_backup_is_told_and_nothing_is_left(
    file: Path, copy: Path, fault: Exception, why: str
) -> None:
    def fail(_: int, __: int) -> None:
        raise fault

    async with SqliteStore(file) as store:
        await started(store)
        with pytest.raises(BackupFailed, match=why):
            back_up(partial(sqlite3.connect, file, isolation_level=None), copy, fail, overwrite=False)
        assert {"copy.db", "copy.db.partial"}.isdisjoint(files(file.parent))
        await store.commit(save(await claimed(store), 2))


async def test_a_file_that_comes_while_it_is_backed_up_to_is_not_replaced(file: Path, copy: Path) -> None:
    async def come(_: int, __: int) -> None:
        shutil.copy(__file__, copy)

    async with SqliteStore(file) as store:
        await started(store)
        with pytest.raises(BackupExists):
            await store.backup(copy, come)
    assert size(copy) == size(Path(__file__))
    assert partial_of(copy).name not in files(file.parent)


async def test_sigkill_in_a_backup_leaves_no_file_of_its_name_and_the_next_one_is_made(file: Path, copy: Path) -> None:
    async with SqliteStore(file) as store:
        await fill(store)
        with fail_after(30):
            async with running(SCRIPT, file, copy) as other:
                assert await other.line() == "copying"
                assert partial_of(copy).name in files(file.parent)
                await other.kill()
        assert copy.name not in files(file.parent)
        await store.backup(copy)
        assert partial_of(copy).name not in files(file.parent)
        async with SqliteStore.reader(copy) as reader:
            assert await reader.verify() == []


async def test_the_file_of_whoever_was_faster_is_not_written_to(
    file: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the opening of the unfinished file and its locking, another backup has given it its name."""
    real: Callable[..., int] = os.open

    def slow_open(path: Path, flags: int, mode: int = 0o777) -> int:
        fd = real(path, flags, mode)
        if Path(path) == partial_of(copy) and not copy.exists():
            partial_of(copy).rename(copy)
        return fd

    async with SqliteStore(file) as store:
        await started(store)
        monkeypatch.setattr(os, "open", slow_open)
        await store.backup(copy, overwrite=True)
    async with SqliteStore.reader(copy) as reader:
        assert len((await reader.find()).items) == 1
