"""Another process holds the write lock: commits of runs wait for it, callers from outside are told who it is."""

import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from tests.checkpoint._builders import new_run, save, started
from tests.checkpoint._processes import Other, running

from stagepost.checkpoint import Freed, SqliteStore, StoreLocked
from stagepost.checkpoint._sqlite import _connect, _inbox_store
from stagepost.checkpoint._sqlite._writer import Writer

# stops itself in the middle of a transaction beside the owner, or after it has signed and before it begins one
HOLDER = """
import os, signal, sys, time, anyio
from stagepost.checkpoint import SqliteStore
from stagepost.checkpoint._sqlite import _inbox_store

def stop(*_):
    print("holds", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(0.5)  # the other threads are stopped first

async def main(path, where):
    async with SqliteStore.inbox(path) as inbox:
        if where == "writes":
            await inbox._sink.write(stop)
        else:
            _inbox_store._run = stop
            await inbox._sink.write(stop)
        await inbox.signal("run", "news", b"1")
    print("done", flush=True)

anyio.run(main, *sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def _short_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_connect, "TRY", 0.05)
    monkeypatch.setattr(_inbox_store, "TRY", 0.05)


@asynccontextmanager
async def holding(file: Path, where: str = "writes") -> AsyncIterator[Other]:
    """A process that holds the write lock, and is stopped."""
    async with running(HOLDER, file, where) as other:
        assert await other.line() == "holds"
        while _state(other) != "T":  # noqa: ASYNC110  # a stopped process sets no event
            await anyio.sleep(0.01)
        yield other


def _state(other: Other) -> str:
    return Path(f"/proc/{other.process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def go_on(other: Other) -> None:
    os.kill(other.process.pid, signal.SIGCONT)


async def test_commits_wait_for_it_and_callers_from_outside_are_told_who_it_is(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Writer.__init__.__kwdefaults__ or {}, "limit", 0.3)  # the patience with a silent disk
    with fail_after(60):
        async with SqliteStore(file) as store:
            lease = await started(store)
            async with holding(file) as other, anyio.create_task_group() as tasks:
                tasks.start_soon(store.commit, save(lease, 2))
                who = rf"being written to by process {other.process.pid} on .*, which did not let go within 5 s"
                for call in (
                    lambda: store.signal("run", "news", b"1"),
                    lambda: store.cancel("run"),
                    lambda: store.create(new_run("new")),
                    lambda: store.join("second"),
                ):
                    with pytest.raises(StoreLocked, match=who) as caught:
                        await call()
                    assert caught.value.is_writing
                async with SqliteStore.inbox(file) as inbox:
                    with pytest.raises(StoreLocked, match=who):
                        await inbox.signal("run", "news", b"1")
                assert (await store.load("run")).root.seq == 1
                go_on(other)
                assert await other.rest() == ["done"]
            assert (await store.load("run")).root.seq == 2
            assert (await store.info("run")).news == 1


async def test_whatever_comes_while_commits_wait_is_done_in_its_order(file: Path) -> None:
    with fail_after(60):
        async with SqliteStore(file) as store:
            leases = [await started(store, f"run-{number}") for number in range(3)]
            async with holding(file) as other, anyio.create_task_group() as tasks:
                for seq in (2, 3, 4):
                    for lease in leases:
                        tasks.start_soon(store.commit, save(lease, seq))
                    await anyio.sleep(0.1)
                go_on(other)
            assert [(await store.load(lease.run_id)).root.seq for lease in leases] == [4, 4, 4]


async def test_an_owner_hears_what_was_written_when_it_is_let_go(file: Path) -> None:
    with fail_after(60):
        async with SqliteStore(file) as store:
            me = await store.join("me")
            changes = store.changes(me)
            await started(store)
            async with holding(file) as other:
                go_on(other)
                assert await anext(changes) == Freed("run", 1)


async def test_a_writer_that_is_killed_leaves_nothing_behind(file: Path) -> None:
    with fail_after(60):
        async with SqliteStore(file) as store:
            lease = await started(store)
            async with holding(file) as other, anyio.create_task_group() as tasks:
                tasks.start_soon(store.commit, save(lease, 2))
                await anyio.sleep(0.1)
                await other.kill()
            assert (await store.load("run")).root.seq == 2
            assert (await store.info("run")).news == 0
            await store.signal("run", "news", b"1")


async def test_a_writer_that_is_stopped_before_it_writes_holds_up_no_commit(file: Path) -> None:
    with fail_after(60):
        async with SqliteStore(file) as store:
            lease = await started(store)
            async with holding(file, "signs") as other:
                for seq in range(2, 50):
                    await store.commit(save(lease, seq))
                async with SqliteStore.inbox(file) as inbox:
                    with pytest.raises(StoreLocked, match=f"process {other.process.pid} on "):
                        await inbox.signal("run", "news", b"1")


async def test_a_caller_that_is_cancelled_does_not_wait_for_it(file: Path) -> None:
    seen: list[Exception] = []
    with fail_after(60):
        async with SqliteStore(file) as store:
            lease = await started(store)
            async with holding(file) as other:
                with anyio.move_on_after(0.2) as scope:
                    try:
                        await store.commit(save(lease, 2))
                    except StoreLocked as error:
                        seen.append(error)
                    await anyio.lowlevel.checkpoint()
                assert scope.cancelled_caught
                go_on(other)
                await other.rest()
            assert (len(seen), (await store.load("run")).root.seq) == (1, 1)
            await store.commit(save(lease, 2))


async def test_a_store_can_be_left_while_another_process_writes(file: Path) -> None:
    errors: list[Exception] = []

    async def commit(store: SqliteStore, lease: object) -> None:
        try:
            await store.commit(save(lease, 2))  # type: ignore[arg-type]  # it is one
        except StoreLocked as error:
            errors.append(error)

    with fail_after(60):
        async with anyio.create_task_group() as tasks:
            async with SqliteStore(file) as store:
                lease = await started(store)
                other = await _enter(tasks, file)
                tasks.start_soon(commit, store, lease)
                await anyio.sleep(0.2)
            assert len(errors) == 1
            with pytest.raises(StoreLocked, match=f"being written to by process {other.process.pid} on "):
                async with SqliteStore(file):
                    pass
            tasks.cancel_scope.cancel()
        async with SqliteStore(file) as store:
            assert (await store.load("run")).root.seq == 1


async def _enter(tasks: anyio.abc.TaskGroup, file: Path) -> Other:
    found: list[Other] = []
    holds = anyio.Event()

    async def hold() -> None:
        async with holding(file) as other:
            found.append(other)
            holds.set()
            await anyio.sleep_forever()

    tasks.start_soon(hold)
    await holds.wait()
    return found[0]


async def test_another_program_that_writes_has_no_name(file: Path) -> None:
    with fail_after(60):
        async with SqliteStore(file) as store:
            await started(store)
            with sqlite3.connect(file, isolation_level=None) as connection:
                connection.execute("BEGIN IMMEDIATE")
                with pytest.raises(StoreLocked, match="a program that writes to it beside stagepost"):
                    await store.signal("run", "news", b"1")
                async with SqliteStore.inbox(file) as inbox:
                    who = rf"process {os.getpid()} on .* \(the owner\), or a program that writes to it beside stagepost"
                    with pytest.raises(StoreLocked, match=who):
                        await inbox.signal("run", "news", b"1")
                connection.execute("ROLLBACK")
            connection.close()
            await store.signal("run", "news", b"1")
