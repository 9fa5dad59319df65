"""Taking a store over from a process that is stopped: when that one wakes up, nothing that it does counts."""

import os
import random
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from tests.checkpoint._builders import claimed, new_run, save, started
from tests.checkpoint._processes import Other, running

from stagepost.checkpoint import (
    Closing,
    Commit,
    OwnershipLost,
    RunStatus,
    SqliteStore,
    StoreLocked,
    StoreTakenOver,
)
from stagepost.checkpoint._sqlite import _connect, _thread

# works on a run, and when it is told to, tries whatever an owner can do
OWNER = """
import sys, anyio
from tests.checkpoint._builders import claimed, new_run, save, started
from stagepost.checkpoint import CheckpointError, Closing, Commit, RunStatus, SqliteStore

async def main():
    async with SqliteStore(sys.argv[1]) as store:
        lease = await started(store)
        await started(store, "untouched")
        await store.commit(save(lease, 2))
        print("saved", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        for attempt in (
            lambda: store.commit(save(lease, 3)),
            lambda: store.commit(Commit(lease=lease, closing=Closing(RunStatus.FAILED, "woken"))),
            lambda: store.create(new_run("another")),
            lambda: claimed(store, "untouched"),
            lambda: store.cancel("untouched"),
            lambda: store.signal("untouched", "name", b"1"),
        ):
            try:
                await attempt()
                print("done", flush=True)
            except CheckpointError as error:
                print(type(error).__name__, flush=True)
        await anyio.sleep(float(sys.argv[2]))
    print("left", flush=True)

anyio.run(main)
"""

# commits without end, and says what was acknowledged and what ended it
COMMITTER = """
import os, sys, anyio
from stagepost.checkpoint import CheckpointError, SqliteStore
from stagepost.checkpoint._sqlite import _connect, _thread
from tests.checkpoint._builders import claimed, save, started

async def work(store, name):
    lease = await started(store, name)
    for seq in range(2, 1_000_000):
        await store.commit(save(lease, seq, x=b'"' + b"x" * 3000 + b'"'))
        os.write(1, f"{name} {seq}\\n".encode())

async def main(path):
    _connect.LARGEST_WAL = _thread.LARGEST_WAL = 200_000
    async with SqliteStore(path, durability="process") as store:
        try:
            async with anyio.create_task_group() as tasks:
                for number in range(5):
                    tasks.start_soon(work, store, f"run-{number}")
        except* CheckpointError as group:
            names = sorted({type(error).__name__ for error in group.exceptions})
    os.write(1, f"{' '.join(names)} .\\n".encode())

anyio.run(main, sys.argv[1])
"""

# stops itself in the middle of its third transaction
FROZEN = """
import os, signal, sys, anyio
from tests.checkpoint._builders import claimed, save, started
from stagepost.checkpoint import SqliteStore
from stagepost.checkpoint._sqlite._batch import run_batch

left = 3

def freeze(connection):
    print("frozen", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    sys.stdin.readline()  # the other threads are stopped first

def run(connection, batch):
    global left
    left -= 1
    return run_batch(connection, batch if left else [freeze, *batch])[-len(batch):]

async def main():
    async with SqliteStore(sys.argv[1], run_batch=run) as store:
        lease = await started(store)
        for seq in range(2, 5):
            await store.commit(save(lease, seq))
    print("unharmed", flush=True)

anyio.run(main)
"""


@asynccontextmanager
async def stopped(script: str, file: Path, first: str, *arguments: object) -> AsyncIterator[Other]:
    """A process that has said its first line and is stopped."""
    async with running(script, file, *arguments) as owner:
        assert await owner.line() == first
        os.kill(owner.process.pid, signal.SIGSTOP)
        yield owner


async def wake(owner: Other) -> list[str]:
    """All that it says from now on."""
    assert owner.process.stdin is not None
    os.kill(owner.process.pid, signal.SIGCONT)
    await owner.process.stdin.send(b"go\n")
    return await owner.rest()


@pytest.mark.parametrize("lingers", [0, 0.7], ids=["leaves at once", "stays idle"])
async def test_p9_a_stopped_owner_that_wakes_can_write_nothing(file: Path, lingers: float) -> None:
    with fail_after(30):
        async with stopped(OWNER, file, "saved", lingers) as owner:
            with pytest.raises(StoreLocked, match=f"process {owner.process.pid} on .*take_over=True if it is stopped"):
                await SqliteStore(file, lock_timeout=0).__aenter__()
            async with SqliteStore(file, take_over=True) as store:
                lease = await claimed(store, "run")
                await store.commit(save(lease, 3, x=b"1"))
                assert await wake(owner) == [*["StoreTakenOver"] * 6, "left"]
                await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))
                after = [await store.load(run.run_id) for run in (await store.find()).items]
        assert [snapshot.run.run_id for snapshot in after] == ["run", "untouched"]
        assert (after[0].run.status, after[0].root.state) == (RunStatus.COMPLETED, {"x": b"1"})
        assert (after[1].run.epoch, after[1].run.cancelling) == (1, False)
        async with SqliteStore(file, lock_timeout=0) as store:
            assert [await store.load(run.run_id) for run in (await store.find()).items] == after
        assert integrity(file) == "ok"


SEEDS = [*range(3), *[pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 60)]]


@pytest.mark.parametrize("seed", SEEDS)
async def test_p9_whenever_the_owner_is_stopped_nothing_acknowledged_is_lost_and_nothing_is_harmed(
    file: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_connect, "BUSY_TIMEOUT", 0.1)
    monkeypatch.setattr(_thread, "LARGEST_WAL", 200_000)
    with fail_after(30):
        async with running(COMMITTER, file) as owner:
            heard = random.Random(seed).randrange(1, 400)  # noqa: S311  # nothing to guess
            await take_over_and_wake(owner, file, [await owner.line() for _ in range(heard)])
    assert integrity(file) == "ok"


async def take_over_and_wake(owner: Other, file: Path, lines: list[str]) -> None:
    store = SqliteStore(file, take_over=True, durability="process")
    os.kill(owner.process.pid, signal.SIGSTOP)
    while True:
        try:
            await store.__aenter__()
            break
        except StoreLocked:  # it was stopped in the middle of a commit
            os.kill(owner.process.pid, signal.SIGCONT)
            lines.append(await owner.line())
            os.kill(owner.process.pid, signal.SIGSTOP)
    try:
        leases = {run.run_id: await claimed(store, run.run_id) for run in (await store.find()).items}
        sequences = {run_id: (await store.load(run_id)).root.seq for run_id in leases}
        os.kill(owner.process.pid, signal.SIGCONT)
        for more in range(1, 50):
            for run_id, lease in leases.items():
                await store.commit(save(lease, sequences[run_id] + more))
        *rest, end = await owner.rest()
        assert end == "StoreTakenOver ."
        for run_id, seq in (line.split() for line in [*lines, *rest]):
            assert int(seq) <= sequences[run_id]
        assert {run_id: (await store.load(run_id)).root.seq - 49 for run_id in leases} == sequences
    finally:
        await store.__aexit__(None, None, None)


async def test_an_owner_stopped_in_the_middle_of_a_commit_must_be_ended_first(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_connect, "BUSY_TIMEOUT", 0.1)
    with fail_after(20):
        async with running(FROZEN, file) as owner:
            assert await owner.line() == "frozen"
            with pytest.raises(StoreLocked, match=f"process {owner.process.pid} on .* in the middle of a commit"):
                await SqliteStore(file, take_over=True).__aenter__()
            with pytest.raises(StoreLocked, match=f"process {owner.process.pid} on "):
                await SqliteStore(file, lock_timeout=0).__aenter__()  # it still is the owner
            assert await wake(owner) == ["unharmed"]


async def test_a_file_without_an_owner_is_simply_opened(file: Path) -> None:
    async with SqliteStore(file, take_over=True) as store:
        lease = await started(store)
        with pytest.raises(StoreLocked, match=f"process {os.getpid()} on "):
            await SqliteStore(file, lock_timeout=0).__aenter__()
        await store.commit(save(lease, 2))
    assert sorted(path.name for path in listing(file)) == ["runs.db", "runs.db.lock"]


async def test_whoever_took_over_is_the_owner_now(file: Path) -> None:
    with fail_after(20):
        async with SqliteStore(file) as first, SqliteStore(file, take_over=True) as second:
            with pytest.raises(StoreTakenOver, match="this process must not go on"):
                await first.create(new_run("first"))
            await second.create(new_run("second"))
            with pytest.raises(StoreLocked):
                await SqliteStore(file, lock_timeout=0).__aenter__()
            async with SqliteStore(file, take_over=True) as third:
                for loser in (first, second):
                    with pytest.raises(StoreTakenOver):
                        await loser.create(new_run("loser"))
                await third.create(new_run("third"))
            assert [run.run_id for run in (await first.find()).items] == ["second", "third"]  # reading goes on
        assert sorted(path.name for path in listing(file)) == ["runs.db", "runs.db.lock"]


async def test_each_of_those_who_wait_at_once_gets_an_error_of_its_own(file: Path) -> None:
    errors: list[StoreTakenOver] = []

    async def create(number: int) -> None:
        with pytest.raises(StoreTakenOver) as caught:
            await first.create(new_run(f"run-{number}"))
        errors.append(caught.value)

    with fail_after(10):
        async with SqliteStore(file) as first, SqliteStore(file, take_over=True), anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(create, number)
    assert len(set(map(id, errors))) == 10


async def test_the_wal_is_copied_only_by_an_owner_that_is_alone(file: Path) -> None:
    async with SqliteStore(file):
        pass
    with fail_after(20):
        async with SqliteStore(file) as first:
            content = content_of(file)
            async with SqliteStore(file, take_over=True) as second:
                await started(second)
            assert content_of(file) == content  # the first one may be in the middle of copying
            async with SqliteStore(file, take_over=True) as third:
                await first.__aexit__(None, None, None)  # fenced: it leaves the WAL alone
                assert content_of(file) == content
                await started(third, "other")
            assert content_of(file) != content
    assert sorted(path.name for path in listing(file)) == ["runs.db", "runs.db.lock"]


async def test_somebody_who_deletes_the_lock_file_makes_no_second_owner(file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file) as first:
            lease = await started(first)
            lock_of(file).unlink()
            async with SqliteStore(file, lock_timeout=0) as second:
                with pytest.raises(StoreTakenOver):
                    await first.commit(save(lease, 2))
                await second.commit(save(lease, 2))


async def test_a_lock_that_was_taken_while_it_was_opened_is_no_lock(file: Path) -> None:
    first = SqliteStore(file, lock_timeout=0)
    with fail_after(10):
        async with first._locked() as lock:
            async with SqliteStore(file, take_over=True):
                pass
            with pytest.raises(StoreTakenOver):
                async with first._writing(lock):
                    pass


async def test_p9_the_number_of_openings_is_what_fences(file: Path) -> None:
    for number in range(1, 4):
        async with SqliteStore(file):
            pass
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("SELECT value FROM meta WHERE name = 'generation'").fetchone() == (number,)


async def test_a_plain_commit_writes_one_page(file: Path) -> None:
    async with SqliteStore(file) as store:
        lease = await started(store)
        before = wal_of(file).stat().st_size
        for seq in range(2, 12):
            await store.commit(save(lease, seq, x=b"1"))
        assert wal_of(file).stat().st_size - before == 10 * 4120


async def test_an_epoch_still_fences_runs_of_one_owner(file: Path) -> None:
    async with SqliteStore(file) as store:
        lease = await started(store)
        await claimed(store, "run")
        with pytest.raises(OwnershipLost):
            await store.commit(save(lease, 2))


def integrity(file: Path) -> object:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone()[0]


def listing(file: Path) -> list[Path]:
    return list(file.parent.iterdir())


def wal_of(file: Path) -> Path:
    return file.with_name(file.name + "-wal")


def lock_of(file: Path) -> Path:
    return file.with_name(file.name + ".lock")


def content_of(file: Path) -> bytes:
    return file.read_bytes()
