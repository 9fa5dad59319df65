"""Anybody may read a store's file: while its owner lives, behind its SIGKILL, and when there is none."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from time import sleep
from types import FrameType

import anyio
import pytest
from anyio import fail_after
from tests.checkpoint._builders import new_run, save, started
from tests.checkpoint._processes import running
from tests.checkpoint._users import as_nobody

from stagepost.checkpoint import (
    BackendNotSupported,
    NotAStore,
    RunNotFound,
    RunStatus,
    SqliteStore,
    SqliteTooOld,
    StoreNotReadable,
)

OWNER = """
import sys, anyio
from tests.checkpoint._builders import save, started
from stagepost.checkpoint import SqliteStore

async def main():
    async with SqliteStore(sys.argv[1]) as store:
        lease = await started(store)
        for seq in range(2, 6):
            await store.commit(save(lease, seq))
        print("saved", flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""

VISITOR = """
import sys, anyio
from stagepost.checkpoint import SqliteStore

async def main():
    async with SqliteStore(sys.argv[1]):
        pass

anyio.run(main)
"""


async def test_a_head_with_a_page_of_a_list_is_read_beside_the_owner_too(file: Path) -> None:
    async with SqliteStore(file) as store:
        await started(store)
        read = await store.head_with("run", "", "list")
        async with SqliteStore.reader(file) as reader, SqliteStore.inbox(file) as inbox:
            assert await reader.head_with("run", "", "list") == read
            assert await inbox.head_with("run", "", "list") == read


async def reading(file: Path) -> None:
    with fail_after(10):
        async with SqliteStore.reader(file):
            pass


@pytest.mark.parametrize("killed", [False, True], ids=["alive", "killed"])
async def test_a_run_is_read_whether_its_owner_is_alive_or_was_killed(
    file: Path,
    killed: bool,  # noqa: FBT001  # a table
) -> None:
    with fail_after(20):
        async with running(OWNER, file) as owner:
            assert await owner.line() == "saved"
            if killed:
                await owner.kill()
            async with SqliteStore.reader(str(file)) as reader:
                assert (await reader.load("run")).root.seq == 5
                assert [run.run_id for run in (await reader.find(status=RunStatus.RUNNING)).items] == ["run"]
                assert (await reader.find(workflow="other")).items == ()
                with pytest.raises(RunNotFound):
                    await reader.load("unknown")


async def test_a_reader_sees_each_commit_once_it_is_acknowledged_and_holds_up_none(file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store, SqliteStore.reader(file) as reader:
            lease = await started(store)
            for seq in range(2, 30):
                await store.commit(save(lease, seq))
                assert (await reader.load("run")).root.seq == seq
            assert await reader.load("run") == await store.load("run")
            assert (await reader.find()).items == (await store.find()).items


async def test_a_store_that_is_closed_can_be_read_and_is_opened_again_behind_it(file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store:
            await started(store)
        async with SqliteStore.reader(file) as reader:
            assert (await reader.load("run")).root.seq == 1
            async with SqliteStore(file, lock_timeout=0) as store:
                await store.create(new_run("second"))
            assert len((await reader.find()).items) == 2
        async with SqliteStore(file, lock_timeout=0) as store:
            assert len((await store.find()).items) == 2


async def test_a_reader_writes_nothing(file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store:
            await started(store)
        content = content_of(file)
        await reading(file)
        assert content_of(file) == content


async def test_opening_a_store_leaves_the_locks_of_a_reader_in_the_same_process_alone(file: Path) -> None:
    """A process loses its POSIX locks on a file when it closes any descriptor of it."""
    with fail_after(20):
        async with SqliteStore(file) as store:
            await started(store)
        async with SqliteStore.reader(file) as reader:
            await reader.find()
            async with SqliteStore(file):
                pass
            async with running(VISITOR, file) as visitor:
                await visitor.process.wait()
            assert index_of(file).exists()  # the visitor knows of this reader, else it would have deleted the index
            assert len((await reader.find()).items) == 1


async def test_a_missing_file_is_told_and_not_made(file: Path) -> None:
    with pytest.raises(StoreNotReadable, match=r"runs\.db cannot be read \(there is no such file\)"):
        await reading(file)
    assert not await anyio.Path(file).exists()


async def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreNotReadable):
        await reading(tmp_path)


async def test_no_thread_outlives_a_file_that_could_not_be_opened(tmp_path: Path) -> None:
    def linger(frame: FrameType, event: str, _: object) -> None:
        if (frame.f_code.co_name, event) == ("close_and_stop", "call"):
            sleep(0.05)

    threading.setprofile(linger)
    try:
        with pytest.raises(StoreNotReadable):
            await reading(tmp_path)
        assert not [thread for thread in threading.enumerate() if "connection_worker" in thread.name]
    finally:
        threading.setprofile(None)


async def test_a_file_that_refuses_is_told(public: Path) -> None:
    async with SqliteStore(public / "runs.db"):
        pass
    (public / "runs.db").chmod(0o600)
    with as_nobody(), pytest.raises(StoreNotReadable, match="a store that this user may read"):
        await reading(public / "runs.db")


async def test_a_folder_that_refuses_the_index_is_told(public: Path) -> None:
    async with SqliteStore(public / "runs.db"):
        pass
    (public / "runs.db").chmod(0o644)
    with as_nobody(), pytest.raises(StoreNotReadable, match="in a folder that it may write"):
        await reading(public / "runs.db")


@pytest.mark.parametrize("content", [b"", b"precious " * 600], ids=["empty", "text"])
async def test_a_file_that_is_no_store_is_told(file: Path, content: bytes) -> None:
    write(file, content)
    with pytest.raises(NotAStore):
        await reading(file)
    assert content_of(file) == content


async def test_the_database_of_another_application_is_told(file: Path) -> None:
    execute(file, "CREATE TABLE theirs (x)")
    with pytest.raises(NotAStore, match="no store was ever opened on it"):
        await reading(file)


async def test_a_newer_schema_is_told(file: Path) -> None:
    async with SqliteStore(file):
        pass
    execute(file, "PRAGMA user_version = 99")
    with pytest.raises(NotAStore, match="its schema is version 99"):
        await reading(file)


async def test_an_old_sqlite_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(SqliteTooOld):
        await reading(file)


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_trio_is_told(file: Path) -> None:
    with pytest.raises(BackendNotSupported):
        await reading(file)


def index_of(file: Path) -> Path:
    return file.with_name("runs.db-shm")


def content_of(file: Path) -> bytes:
    return file.read_bytes()


def write(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def execute(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(statement)
