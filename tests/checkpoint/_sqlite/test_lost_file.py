"""A file that is deleted, moved, replaced or overwritten under its owner: nothing is acknowledged any more."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from tests.checkpoint._builders import claimed, new_run, save, started
from tests.checkpoint._processes import environment, running

from stagepost.checkpoint import Lease, SqliteStore, StoreLost
from stagepost.checkpoint._sqlite import _generation, _main_file, _thread
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch


def beside(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)


def wal(file: Path) -> Path:
    return beside(file, "-wal")


def all_of(file: Path) -> list[Path]:
    return sorted(file.parent.glob(f"{file.name}*"))


def delete(file: Path) -> None:
    file.unlink()


def delete_all(file: Path) -> None:
    for path in all_of(file):
        path.unlink()


def delete_with_its_lock(file: Path) -> None:
    file.unlink()
    beside(file, ".lock").unlink()


def move_away(file: Path) -> None:
    file.rename(beside(file, ".old"))


def move_all(file: Path) -> None:
    (file.parent / "old").mkdir()
    for path in all_of(file):
        path.rename(file.parent / "old" / path.name)


def replace_by_copy(file: Path) -> None:
    shutil.copy(file, beside(file, ".copy"))
    beside(file, ".copy").replace(file)


def replace_by_nothing(file: Path) -> None:
    beside(file, ".new").touch()
    beside(file, ".new").replace(file)


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def remove_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def move_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("elsewhere"))


def replace_folder(file: Path) -> None:
    shutil.copytree(file.parent, file.parent.with_name("copy"))
    remove_folder(file)
    file.parent.with_name("copy").rename(file.parent)


def delete_wal(file: Path) -> None:
    wal(file).unlink()


def replace_wal(file: Path) -> None:
    shutil.copy(wal(file), beside(file, ".copy"))
    beside(file, ".copy").replace(wal(file))


def delete_shm(file: Path) -> None:
    beside(file, "-shm").unlink()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def overwrite_by_nonsense(file: Path) -> None:
    file.write_bytes(b"nonsense" * 10_000)


def overwrite_by_other_store(file: Path) -> None:
    """As by ``cp``, which keeps the inode."""
    other = file.parent.parent / "other.db"
    in_process(OTHER, other)
    copy(other, file)


def overwrite_from_this_process(file: Path) -> None:
    """Which lets go of all locks that this process has on the file."""
    other = file.parent.parent / "other.db"
    in_process(OTHER, other)
    shutil.copyfile(other, file)


def in_process(script: str, *arguments: object) -> None:
    subprocess.run([sys.executable, "-c", script, *map(str, arguments)], check=True, env=environment())


def copy(source: Path, target: Path) -> None:
    """Write one file over another, as ``cp`` does."""
    in_process("import shutil, sys; shutil.copyfile(*sys.argv[1:])", source, target)


OTHER = """
import sys, anyio
from tests.checkpoint._builders import claimed, started
from stagepost.checkpoint import SqliteStore

async def main():
    async with SqliteStore(sys.argv[1]) as store:
        await started(store, "other")

anyio.run(main)
"""

LOSSES: dict[str, tuple[Callable[[Path], None], str]] = {
    "deleted": (delete, "it was deleted or moved"),
    "deleted with all beside it": (delete_all, "it was deleted or moved"),
    "deleted with its lock": (delete_with_its_lock, "it was deleted or moved"),
    "moved": (move_away, "it was deleted or moved"),
    "moved with all beside it": (move_all, "it was deleted or moved"),
    "replaced by a copy": (replace_by_copy, "another file has taken its place"),
    "replaced by an empty file": (replace_by_nothing, "another file has taken its place"),
    "replaced by a folder": (replace_by_folder, "another file has taken its place"),
    "its folder deleted": (remove_folder, "it was deleted or moved"),
    "its folder moved": (move_folder, "it was deleted or moved"),
    "its folder replaced": (replace_folder, "another file has taken its place"),
    "its WAL deleted": (delete_wal, r"its file runs\.db-wal was deleted or moved"),
    "its WAL replaced": (replace_wal, r"another file has taken the place of runs\.db-wal"),
    "emptied": (empty, "it was overwritten"),
    "overwritten by nonsense": (overwrite_by_nonsense, "it was overwritten"),
    "overwritten by another store": (overwrite_by_other_store, "it was overwritten"),
    "overwritten from within": (overwrite_from_this_process, "it was overwritten"),
}
EACH_LOSS = pytest.mark.parametrize(("lose", "why"), LOSSES.values(), ids=LOSSES)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder / "runs.db"


@EACH_LOSS
async def test_p9_behind_the_loss_of_its_file_a_store_acknowledges_nothing(
    file: Path, lose: Callable[[Path], None], why: str
) -> None:
    with fail_after(20):
        async with SqliteStore(file) as store:
            lease = await started(store)
            lose(file)
            for _ in range(2):
                with pytest.raises(StoreLost, match=rf"runs\.db .*{why}"):
                    await store.commit(save(lease, 2))
                with pytest.raises(StoreLost):
                    await store.create(new_run("another"))
            assert isinstance(await store.failure(), StoreLost)


@EACH_LOSS
async def test_p9_a_batch_that_is_under_way_is_not_acknowledged_either(
    file: Path, lose: Callable[[Path], None], why: str
) -> None:
    losing = list[Path]()

    def run(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        outcomes = run_batch(connection, batch)
        for path in losing:
            lose(path)
        return outcomes

    with fail_after(20):
        async with SqliteStore(file, run_batch=run) as store:
            lease = await started(store)
            losing.append(file)
            with pytest.raises(StoreLost, match=why):
                await store.commit(save(lease, 2))
            losing.clear()


@pytest.mark.parametrize("lose", [delete, replace_by_copy, replace_folder, move_away, delete_wal, delete_shm])
async def test_what_has_taken_the_place_of_a_file_is_not_read(file: Path, lose: Callable[[Path], None]) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store, SqliteStore.reader(file) as reader:
            await started(store)
            await reader.info("run")
            lose(file)
            for each in (store, reader):
                with pytest.raises(StoreLost):
                    await each.info("run")
                with pytest.raises(StoreLost):
                    await each.find()


async def test_whoever_reads_a_file_that_was_emptied_is_told_that_it_is_lost(file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store, SqliteStore.reader(file) as reader:
            await started(store)
            await reader.info("run")
            os.truncate(file, 0)
            for each in (store, reader):
                with pytest.raises(StoreLost):
                    await each.info("run")


async def test_what_was_saved_is_in_a_file_that_was_moved_with_what_is_beside_it(file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store:
            lease = await started(store)
            await store.commit(save(lease, 2, x=b"1"))
            move_all(file)
            with pytest.raises(StoreLost):
                await store.commit(save(lease, 3, x=b"1"))
        (file.parent / "old" / "runs.db").rename(file)
        (file.parent / "old" / "runs.db-wal").rename(wal(file))
        async with SqliteStore(file) as store:
            assert (await store.load("run")).root.state == {"x": b"1"}
            assert await store.verify() == []


@pytest.mark.parametrize("lose", [delete_wal, replace_wal])
async def test_what_was_saved_beside_a_file_is_copied_into_it_when_the_store_is_left(
    file: Path, lose: Callable[[Path], None]
) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store:
            lease = await started(store)
            await store.commit(save(lease, 2, x=b"1"))
            lose(file)
            with pytest.raises(StoreLost, match="leave the store"):
                await store.commit(save(lease, 3, x=b"1"))  # which may be in the file, though it is not acknowledged
        async with SqliteStore(file) as store:
            assert (await store.load("run")).root.state == {"x": b"1"}
            assert await store.verify() == []


async def test_the_index_of_the_wal_is_missed_at_the_latest_after_a_pause(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store:
            lease = await started(store)
            delete_shm(file)
            monkeypatch.setattr(_thread, "_LOOK", 0)  # no pause is too short
            with pytest.raises(StoreLost, match=r"its file runs\.db-shm was deleted or moved.*leave the store"):
                await store.commit(save(lease, 2))
        async with SqliteStore(file) as store:
            assert (await store.load("run")).root.seq == 1


def copy_deleted(file: Path, folder: Path) -> None:
    """As a person does who is told to."""
    names = {f"{path} (deleted)": path.name for path in (file, wal(file))}
    for descriptor in sorted(Path("/proc/self/fd").iterdir()):
        target = names.get(str(descriptor.readlink())) if descriptor.is_symlink() else None
        if target is not None:
            copy(Path(f"/proc/{os.getpid()}/fd/{descriptor.name}"), folder / target)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems show no deleted files")
async def test_a_deleted_file_can_be_copied_while_its_process_lives(file: Path, tmp_path: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store:
            lease = await started(store)
            await store.commit(save(lease, 2, x=b"1"))
            delete_all(file)
            with pytest.raises(StoreLost, match=f"/proc/{os.getpid()}/fd"):
                await store.commit(save(lease, 3, x=b"1"))
            copy_deleted(file, tmp_path)
        async with SqliteStore(tmp_path / "runs.db") as store:
            assert (await store.load("run")).root.state == {"x": b"1"}
            assert await store.verify() == []


OWNER = """
import sys, anyio
from tests.checkpoint._builders import claimed, save, started
from stagepost.checkpoint import CheckpointError, SqliteStore

async def main():
    async with SqliteStore(sys.argv[1]) as store:
        lease = await started(store)
        print("started", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        for seq in (2, 3):
            try:
                await store.commit(save(lease, seq))
                print("done", flush=True)
            except CheckpointError as error:
                print(type(error).__name__, flush=True)
    print("left", flush=True)

anyio.run(main)
"""


@pytest.mark.parametrize("lose", [replace_by_copy, replace_folder, delete_all])
async def test_p9_two_processes_do_not_run_one_run_though_lock_and_file_were_replaced(
    file: Path, lose: Callable[[Path], None]
) -> None:
    with fail_after(20):
        async with running(OWNER, file) as owner:
            assert await owner.line() == "started\n".rstrip()
            with closing(sqlite3.connect(file)) as connection:
                connection.execute("PRAGMA wal_checkpoint").fetchone()  # so that a copy has the run
            lose(file)
            beside(file, ".lock").unlink(missing_ok=True)
            async with SqliteStore(file, lock_timeout=0) as store:
                found = [run.run_id for run in (await store.find()).items]
                leases = [await claimed(store, run_id) for run_id in found] or [await started(store)]
                assert owner.process.stdin is not None
                await owner.process.stdin.send(b"go\n")
                assert await owner.rest() == ["StoreLost", "StoreLost", "left"]
                sequence = (await store.load("run")).root.seq
                await store.commit(save(leases[0], sequence + 1, x=b"1"))
            async with SqliteStore(file, lock_timeout=0) as store:  # the one before has left alone what was not its own
                assert (await store.load("run")).root.state == {"x": b"1"}
                assert await store.verify() == []


# what is no loss


async def test_a_file_that_another_program_has_written_and_copied_the_wal_into_is_no_loss(file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store:
            lease = await started(store)
            for seq, script in enumerate((CHECKPOINTS, VACUUMS, CHECKPOINTS, TOUCHES), 2):
                in_process(script, file)
                await store.commit(save(lease, seq))
            await anyio.to_thread.run_sync(idle, store)
            await store.commit(save(lease, 6))
        async with SqliteStore(file) as store:
            assert (await store.load("run")).root.seq == 6


CHECKPOINTS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
"""
VACUUMS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("VACUUM")
connection.execute("PRAGMA wal_checkpoint")
"""
TOUCHES = """
import os, sys
os.utime(sys.argv[1])
"""


def idle(store: SqliteStore) -> None:
    """Wait until the writer has copied the WAL."""
    while wal(store.path).stat().st_size:
        in_process(CHECKPOINTS, store.path)


async def test_copying_the_wal_is_no_loss(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_thread, "LARGEST_WAL", 0)  # copied after each batch
    with fail_after(10):
        async with SqliteStore(file) as store:
            lease = await started(store)
            for seq in range(2, 10):
                await store.commit(save(lease, seq))
            overwrite_by_other_store(file)
            with pytest.raises(StoreLost):
                await store.commit(save(lease, 10))


async def copied(file: Path, number: int | None) -> int:
    """The number that is in the file once the WAL has been copied, which raises it."""
    while (now := _main_file.read_alone(file)) == number or now is None:
        await checkpoint()
    return now


async def test_an_older_copy_that_is_written_over_the_file_is_found(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_thread, "LARGEST_WAL", 0)
    with fail_after(10):
        async with SqliteStore(file) as store:
            first = _main_file.read_alone(file)
            lease = await started(store)
            second = await copied(file, first)
            copy(file, beside(file, ".backup"))
            await store.commit(save(lease, 2))
            await copied(file, second)
            copy(beside(file, ".backup"), file)
            with pytest.raises(StoreLost, match="overwritten"):
                await store.commit(save(lease, 3))


async def test_a_reader_of_a_file_that_another_database_was_written_into_says_so(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    in_process("import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('CREATE TABLE other (a)')", other)
    async with SqliteStore(file) as store, SqliteStore.reader(file) as reader:
        await started(store)
        idle(store)
        copy(other, file)
        with pytest.raises(StoreLost, match="it was overwritten"):
            await reader.load("run")


# by which name


async def test_a_relative_path_stays_what_it_was_when_the_working_directory_changes(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    with fail_after(10):
        async with SqliteStore("runs.db") as store, SqliteStore.reader("runs.db") as reader:
            monkeypatch.chdir(tmp_path)
            lease = await started(store)
            await store.commit(save(lease, 2))
            await reader.info("run")
            assert (await store.load("run")).root.seq == 2
        assert all_of(tmp_path / "runs.db") == []
        assert all_of(file) == [file, beside(file, ".lock")]


async def test_by_two_names_a_file_has_one_lock(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(file)
    with fail_after(10):
        async with SqliteStore(link) as store:
            await started(store)
            with pytest.raises(TimeoutError):
                await SqliteStore(file, lock_timeout=0).__aenter__()
        assert not beside(link, ".lock").exists()
        assert not file.parent.joinpath("link.db").exists()


def lead_elsewhere(link: Path, file: Path, what: str) -> None:
    target = beside(file, ".new")
    if what == "target":
        file.rename(target)  # the same file, whose WAL has another name now
    else:
        shutil.copy(file, target)
    link.unlink()
    link.symlink_to(target)


@pytest.mark.parametrize("what", ["link", "target"])
async def test_a_link_that_leads_elsewhere_is_a_loss(file: Path, tmp_path: Path, what: str) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(file)
    with fail_after(10):
        async with SqliteStore(link) as store:
            lease = await started(store)
            lead_elsewhere(link, file, what)
            with pytest.raises(StoreLost):
                await store.commit(save(lease, 2))


async def test_a_folder_that_cannot_be_looked_into_any_more_is_a_loss(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> os.stat_result:
        raise PermissionError(13, "Permission denied", path)

    with fail_after(10):
        async with SqliteStore(file) as store:
            lease = await started(store)
            with monkeypatch.context() as closed:
                closed.setattr(_generation, "stat", refuse)
                with pytest.raises(StoreLost, match="Permission denied"):
                    await store.commit(save(lease, 2))


async def test_a_file_that_is_replaced_while_it_is_opened_is_opened_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = list[Path]()
    connect = sqlite3.connect

    def connect_and_replace(*arguments: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)  # type: ignore[call-overload]  # as it came
        if not replaced:
            replaced.append(file)
            replace_by_nothing(file)
        return connection

    with fail_after(10):
        with monkeypatch.context() as patched:
            patched.setattr(sqlite3, "connect", connect_and_replace)
            async with SqliteStore(file) as store:
                lease: Lease = await started(store)
                await store.commit(save(lease, 2))
        async with SqliteStore(file) as store:
            assert (await store.load("run")).root.seq == 2
