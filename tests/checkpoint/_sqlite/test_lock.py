import os
import re
import signal
import socket
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from tests.checkpoint._builders import started
from tests.checkpoint._processes import running
from tests.checkpoint._users import as_nobody

from stagepost.checkpoint import NotAStore, SqliteStore, StoreLocked, StoreNotWritable, StoreTakenOver
from stagepost.checkpoint._sqlite import _lock
from stagepost.checkpoint._sqlite._lock import Beside, FileLock, held_by, inbox_lock_of, name_in

HOLDER = """
import sys, anyio
from stagepost.checkpoint import SqliteStore

async def main():
    async with SqliteStore(sys.argv[1]):
        print("held", flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""

# the owner forks a child that outlives it; what stands in the second argument happens before
FORKER = """
import os, signal, sys, anyio
from stagepost.checkpoint import SqliteStore
from stagepost.checkpoint._sqlite import _lock

async def main():
    async with SqliteStore(sys.argv[1]):
        exec(sys.argv[2])
        if os.fork() == 0:
            print(os.getpid(), flush=True)
            while True:
                signal.pause()
        await anyio.sleep_forever()

anyio.run(main)
"""


async def test_p9_a_second_process_is_refused_and_told_who_holds_the_file(file: Path) -> None:
    with fail_after(20):
        async with running(HOLDER, file) as holder:
            assert await holder.line() == "held"
            with pytest.raises(StoreLocked) as caught:
                async with SqliteStore(file, lock_timeout=0.1):
                    pass
            assert f"process {holder.process.pid} on " in caught.value.holder
            assert "did not let go within 0.1 s" in str(caught.value)


async def test_p7_after_the_holder_is_killed_opening_succeeds_at_once(file: Path) -> None:
    with fail_after(20):
        async with running(HOLDER, file) as holder:
            assert await holder.line() == "held"
            await holder.kill()
            async with SqliteStore(file, lock_timeout=0) as store:
                await started(store)


async def test_opening_waits_for_the_holder_to_let_go(file: Path) -> None:
    with fail_after(20):
        async with running(HOLDER, file) as holder, anyio.create_task_group() as tasks:
            assert await holder.line() == "held"
            opened = anyio.Event()

            async def open_it() -> None:
                async with SqliteStore(file, lock_timeout=15):
                    opened.set()

            tasks.start_soon(open_it)
            await anyio.wait_all_tasks_blocked()
            assert not opened.is_set()
            await holder.kill()
            await opened.wait()


@pytest.mark.parametrize(
    ("before", "locked"),
    [("", False), ("_lock._OPEN.clear()", True)],
    ids=["as it is", "without the fork hook"],
)
async def test_a_forked_child_does_not_keep_the_lock_of_its_killed_parent(
    file: Path,
    before: str,
    locked: bool,  # noqa: FBT001  # a table
) -> None:
    with fail_after(20):
        async with running(FORKER, file, before) as owner:
            child = int(await owner.line())
            try:
                await owner.kill()
                if locked:
                    with pytest.raises(StoreLocked):
                        await SqliteStore(file, lock_timeout=0).__aenter__()
                else:
                    async with SqliteStore(file, lock_timeout=0) as store:
                        await started(store)
            finally:
                os.kill(child, signal.SIGKILL)


async def test_a_lock_is_held_from_acquire_to_release(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    with fail_after(5):
        await first.acquire(0, tmp_path)
        with pytest.raises(StoreLocked, match=f"process {os.getpid()} on"):
            await second.acquire(0, tmp_path)
        first.release()
        first.release()  # twice is once
        await second.acquire(0, tmp_path)
        second.release()


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


async def test_a_cancelled_wait_leaves_no_file_open(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    with fail_after(5):
        await first.acquire(0, tmp_path)
        open_before = open_files()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(second.acquire, 10, tmp_path)
            await anyio.wait_all_tasks_blocked()
            assert second in _lock._OPEN  # a child forked now would close it
            tasks.cancel_scope.cancel()
        assert (open_files(), second in _lock._OPEN) == (open_before, False)
        first.release()


async def test_a_holder_that_has_not_written_its_name_is_described(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    await first.acquire(0, tmp_path)
    os.truncate(tmp_path / "lock", 0)
    with pytest.raises(StoreLocked, match="has not written its name yet"):
        await second.acquire(0, tmp_path)
    first.release()


async def test_children_close_their_copies(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    await first.acquire(0, tmp_path)
    _lock._release_in_child()
    await second.acquire(0, tmp_path)
    second.release()


async def test_whoever_waits_for_a_lock_that_is_replaced_waits_for_the_new_one(tmp_path: Path) -> None:
    first, second, third = (FileLock(tmp_path / "lock") for _ in range(3))
    with fail_after(10):
        await first.acquire(0, tmp_path)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(third.acquire, 10, tmp_path)
            await anyio.wait_all_tasks_blocked()
            second.confirm(tmp_path)
            first.release()
            with pytest.raises(StoreLocked):
                await FileLock(tmp_path / "lock").acquire(0.2, tmp_path)
            assert second.is_held
            second.release()
        third.confirm(tmp_path)
        third.release()


async def test_whoever_replaces_a_lock_is_alone_once_its_holder_has_gone(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    await first.acquire(0, tmp_path)
    assert first.is_alone()
    second.confirm(tmp_path)
    assert not second.is_alone()
    with pytest.raises(StoreTakenOver):
        first.confirm(tmp_path)
    first.release()
    assert second.is_alone()
    second.confirm(tmp_path)
    second.release()


async def test_children_close_the_lock_that_was_replaced_too(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    open_before = open_files()
    await first.acquire(0, tmp_path)
    second.confirm(tmp_path)
    _lock._release_in_child()
    assert open_files() == open_before


async def test_a_lock_that_cannot_be_replaced_is_not_writable(public: Path) -> None:
    first, second = FileLock(public / "lock"), FileLock(public / "lock")
    await first.acquire(0, public)
    close_folder(public)
    with as_nobody(), pytest.raises(StoreNotWritable, match="Permission denied"):
        second.confirm(public)
    second.release()
    first.release()


def close_folder(folder: Path) -> None:
    """Its files can be written, but none can be added."""
    for path in folder.iterdir():
        path.chmod(0o666)
    folder.chmod(0o555)


def test_a_lock_whose_file_was_deleted_is_lost(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.try_acquire()
    lock.path.unlink()
    with pytest.raises(StoreTakenOver):
        lock.confirm(tmp_path)
    lock.release()


async def test_a_lock_that_cannot_be_made_is_not_writable(tmp_path: Path) -> None:
    with pytest.raises(StoreNotWritable, match="No such file or directory"):
        await FileLock(tmp_path / "missing" / "lock").acquire(0, tmp_path)


async def test_a_second_store_of_the_same_process_is_told_to_use_the_first(file: Path) -> None:
    async with SqliteStore(file) as first:
        link = file.with_name("link.db")
        link.symlink_to(file)
        with pytest.raises(StoreLocked, match=r"is open in this process already .*: use that store") as caught:
            async with SqliteStore(file, lock_timeout=0):
                pass
        assert caught.value.is_ours
        assert (await first.find()).items == ()
    async with SqliteStore(file, lock_timeout=0):
        pass


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreNotWritable, match=f"there is no folder {re.escape(str(tmp_path / 'no'))}: make it first"):
        async with SqliteStore(tmp_path / "no" / "runs.db"):
            pass


@pytest.mark.parametrize("path", [":memory:", "sqlite:///runs.db", "postgresql://host/runs"])
async def test_a_path_is_no_address(path: str) -> None:
    with pytest.raises(NotAStore, match=r"a path is wanted, .* MemoryStore\(\) keeps runs in memory"):
        async with SqliteStore(path):
            pass


def test_a_lock_file_that_is_not_there_names_nobody(tmp_path: Path) -> None:
    assert held_by(tmp_path / "none.lock") is None
    assert name_in(tmp_path / "none.lock") == "a process that has not written its name yet"


def test_an_owner_that_looks_for_others_only_sees_those_that_hold_their_lock(tmp_path: Path) -> None:
    beside, lock = Beside(tmp_path / "runs.db"), FileLock(inbox_lock_of(tmp_path / "runs.db"))
    assert beside.give_way()
    assert lock.try_acquire()
    assert beside.holder() == f"process {os.getpid()} on {socket.gethostname()}"
    assert not beside.give_way()
    lock.release()
    assert (beside.give_way(), beside.holder()) == (True, None)
    beside.close()
    beside.close()
