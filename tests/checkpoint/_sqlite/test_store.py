import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from tests.checkpoint._builders import Batches, claimed, failed, new_run, save, sqlite_error, started

from stagepost.checkpoint import (
    Lease,
    OwnershipLost,
    RunNotFound,
    RunStatus,
    SqliteStore,
    Statement,
    StoreClosed,
    StoreError,
    StoreFailed,
    StoreFull,
    StoreLocked,
    StoreTakenOver,
)
from stagepost.checkpoint._sqlite import _connect, _retention, _thread
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch
from stagepost.checkpoint._sqlite._queries import Query

LARGE = b'"' + b"x" * 200_000 + b'"'


async def test_contents_survive_closing_and_opening_again(file: Path) -> None:
    async with SqliteStore(file, clock=lambda: 1.5) as store:
        lease = await started(store)
        await store.commit(save(lease, 2, x=b"1"))
        before = await store.load("run")
    async with SqliteStore(file) as again:
        assert await again.load("run") == before
    assert before.run.created_at.timestamp() == 1.5


async def test_one_object_can_be_entered_again(file: Path) -> None:
    store = SqliteStore(file)
    for run_id in ("a", "b"):
        async with store:
            await started(store, run_id)
            assert len((await store.find()).items) == (1 if run_id == "a" else 2)


@pytest.mark.parametrize("entered", [False, True], ids=["not yet", "no longer"])
async def test_a_store_that_is_not_open_refuses_everything(
    file: Path,
    entered: bool,  # noqa: FBT001  # a table
) -> None:
    store = SqliteStore(file)
    if entered:
        async with store:
            pass
    lease = Lease("run", 1, 1)
    for call in (
        lambda: store.create(new_run()),
        lambda: claimed(store, "run"),
        lambda: store.commit(save(lease, 2)),
        lambda: store.load("run"),
        store.find,
    ):
        with pytest.raises(StoreClosed, match="use it inside `async with`"):
            await call()
    with pytest.raises(StoreClosed):
        await store.join("runner")


async def test_p9_a_lease_of_an_earlier_process_is_fenced(file: Path) -> None:
    async with SqliteStore(file) as store:
        old = await started(store)
    async with SqliteStore(file) as store:
        await claimed(store, "run")
        with pytest.raises(OwnershipLost, match=r"epoch 2, ours was 1"):
            await store.commit(save(old, 2))


async def test_a_hundred_runs_share_a_few_transactions(file: Path) -> None:
    batches = Batches()
    with fail_after(10):
        async with SqliteStore(file, run_batch=batches) as store:
            leases = [await started(store, f"run-{number:03}") for number in range(100)]
            batches.sizes.clear()
            async with anyio.create_task_group() as tasks:
                for lease in leases:
                    tasks.start_soon(store.commit, save(lease, 2))
            assert {(await store.load(lease.run_id)).root.seq for lease in leases} == {2}
    assert sum(batches.sizes) == 100
    assert len(batches.sizes) <= 10


async def test_a_wal_that_has_been_copied_is_cut_so_that_it_is_not_copied_at_every_commit(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_thread, "LARGEST_WAL", 500_000)
    monkeypatch.setattr(_connect, "LARGEST_WAL", 500_000)
    copies: list[str] = []
    batches = Batches(lambda connection: connection.set_trace_callback(copies.append))
    async with SqliteStore(file, run_batch=batches) as store:
        lease = await started(store)
        for seq in range(2, 6):
            await store.commit(save(lease, seq, x=b'"' + b"%d" % seq * 200_000 + b'"'))
        for seq in range(6, 30):
            await store.commit(save(lease, seq, x=b"1"))
    passive = [statement for statement in copies if "PASSIVE" in statement]
    assert 0 < len(passive) < 6


async def test_reads_see_what_was_acknowledged(file: Path) -> None:
    async with SqliteStore(file) as store:
        lease = await started(store)
        for seq in range(2, 30):
            await store.commit(save(lease, seq))
            assert (await store.load("run")).root.seq == seq


async def test_a_cancelled_read_harms_no_later_one(file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store:
            await started(store)
            for _ in range(20):
                with anyio.CancelScope() as scope:
                    scope.cancel()
                    await store.load("run")
            assert (await store.load("run")).root.seq == 1


async def test_reads_that_fail_are_store_errors(file: Path) -> None:
    async with SqliteStore(file) as store:
        await started(store)
        other = sqlite3.connect(file)  # stays open: the last one to close it might copy the WAL
        other.execute("DROP TABLE items")
        other.commit()
        with pytest.raises(StoreError, match="no such table: items"):
            await store.load("run")
        other.close()


async def test_any_error_text_can_be_stored(file: Path) -> None:
    async with SqliteStore(file) as store:
        await store.commit(failed(await started(store), "no such file: 'caf\udce9'"))
        assert (await store.load("run")).run.error == r"no such file: 'caf\udce9'"


async def test_a_name_that_cannot_be_stored_harms_no_other_run(file: Path) -> None:
    async with SqliteStore(file) as store:
        with pytest.raises(ValueError, match="surrogates not allowed"):
            await store.create(new_run("caf\udce9"))
        await started(store)


async def test_leaving_while_cancelled_still_saves_and_closes(file: Path) -> None:
    with fail_after(10), anyio.CancelScope() as scope:
        async with SqliteStore(file) as store:
            await started(store)
            scope.cancel()
    assert [path.name for path in sorted(listing(file))] == ["runs.db", "runs.db.lock"]


def listing(file: Path) -> list[Path]:
    return list(file.parent.iterdir())


# a disk without space


class SmallDisk:
    """Limits the database to its size when `full` is set; really: SQLite itself says that it is full."""

    def __init__(self) -> None:
        self.full = False
        self.sizes: list[int] = []
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        self.gate.wait(10)
        self.sizes.append(len(batch))
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 2 if self.full else 1_000_000}")
        return run_batch(connection, batch)


async def test_words_are_written_and_searched_after_the_store_was_opened_again(file: Path) -> None:
    words = Statement("CREATE VIRTUAL TABLE app_words USING fts5(text)")
    for statements in ([words], [], [Statement("DROP TABLE app_words"), words]):
        async with SqliteStore(file) as store:
            await store.execute(*statements, Statement("INSERT INTO app_words VALUES (?)", ("black tea",)))
    async with SqliteStore(file) as store:
        assert await store.query("SELECT text FROM app_words WHERE app_words MATCH 'tea'") == [("black tea",)]


async def test_a_full_disk_is_no_fault_of_a_statement(file: Path) -> None:
    disk = SmallDisk()
    async with SqliteStore(file, run_batch=disk) as store:
        await store.execute(Statement("CREATE TABLE app_notes (text BLOB)"))
        disk.full = True
        with pytest.raises(StoreFull):
            await store.execute(Statement("INSERT INTO app_notes VALUES (?)", (LARGE,)))
        disk.full = False
        await store.execute(Statement("INSERT INTO app_notes VALUES (?)", (b"small",)))
        assert await store.query("SELECT text FROM app_notes") == [(b"small",)]


async def test_a_full_disk_refuses_the_commit_and_keeps_the_store(file: Path) -> None:
    disk = SmallDisk()
    with fail_after(10):
        async with SqliteStore(file, run_batch=disk) as store:
            lease = await started(store)
            disk.full = True
            with pytest.raises(StoreFull, match="free some space and resume the run"):
                await store.commit(save(lease, 2, x=LARGE))
            assert (await store.load("run")).root.seq == 1
            disk.full = False
            await store.commit(save(lease, 2, x=LARGE))
            assert (await store.load("run")).root.state == {"x": LARGE}


async def test_what_is_too_large_for_a_full_disk_fails_alone(file: Path) -> None:
    disk = SmallDisk()
    errors: list[str] = []
    with fail_after(10):
        async with SqliteStore(file, run_batch=disk) as store:
            leases = [await started(store, f"run-{number}") for number in range(10)]
            disk.full = True

            async def commit(number: int) -> None:
                state = LARGE if number == 5 else b"1"
                try:
                    await store.commit(save(leases[number], 2, x=state))
                except StoreFull:
                    errors.append(leases[number].run_id)

            disk.gate.clear()
            async with anyio.create_task_group() as tasks:
                for number in range(10):
                    tasks.start_soon(commit, number)
                await anyio.wait_all_tasks_blocked()
                disk.gate.set()
            sequences = [(await store.load(lease.run_id)).root.seq for lease in leases]
    assert errors == ["run-5"]
    assert sequences == [2, 2, 2, 2, 2, 1, 2, 2, 2, 2]
    assert max(disk.sizes) >= 9


async def test_a_program_that_writes_to_the_file_is_named(file: Path) -> None:
    batches = Batches(lambda connection: connection.execute("PRAGMA busy_timeout = 0"))
    with fail_after(10):
        async with SqliteStore(file, run_batch=batches) as store:
            lease = await started(store)
            other = sqlite3.connect(file, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreLocked, match="a program that writes to it beside stagepost"):
                await store.commit(save(lease, 2))
            other.close()
            await store.commit(save(lease, 2))


async def test_after_an_io_error_only_reopening_helps(file: Path) -> None:
    def fail(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        if not broken.is_set():
            return run_batch(connection, batch)
        return [Outcome(error=sqlite_error(sqlite3.SQLITE_IOERR, "disk I/O error"))] * len(batch)

    broken = threading.Event()
    with fail_after(10):
        async with SqliteStore(file, run_batch=fail) as store:
            lease = await started(store)
            broken.set()
            for _ in range(2):
                with pytest.raises(StoreFailed, match="recover the runs"):
                    await store.commit(save(lease, 2))
            broken.clear()
            with pytest.raises(StoreFailed):
                await claimed(store, "run")
            assert (await store.load("run")).root.seq == 1
        async with SqliteStore(file) as store:
            await store.commit(save(lease, 2))


async def test_find_takes_words_for_words(file: Path) -> None:
    async with SqliteStore(file) as store:
        await started(store, "a'b")
        assert (await store.find(workflow="digest' OR '1'='1")).items == ()
        with pytest.raises(ValueError, match="no place among these runs"):
            await store.find(status=RunStatus.RUNNING, after="a' OR 1=1 --")
        with pytest.raises(RunNotFound):
            await store.load("a' OR '1'='1")
        with pytest.raises(ValueError, match="is not a valid RunStatus"):
            await store.find(status="' OR 1=1 --")  # type: ignore[arg-type]  # the attack


async def test_runs_to_be_forgotten_are_found_by_their_index(file: Path) -> None:
    async with SqliteStore(file):
        pass
    assert "runs_ended" in plan(file, Query(_retention._OLD, (0, 0, 100)))


def plan(file: Path, query: Query) -> str:
    with closing(sqlite3.connect(file)) as connection:
        return str(connection.execute(f"EXPLAIN QUERY PLAN {query.text}", query.values).fetchall())


async def failures_of(store: SqliteStore, found: list[StoreError]) -> None:
    found.append(await store.failure())


async def test_whoever_waits_is_told_when_the_disk_has_failed_for_good(file: Path) -> None:
    def fail(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        if not codes:
            return run_batch(connection, batch)
        return [Outcome(error=sqlite_error(codes[0], "the disk says no"))] * len(batch)

    codes, found = list[int](), list[StoreError]()
    with fail_after(10):
        async with SqliteStore(file, run_batch=fail) as store, anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(failures_of, store, found)
            codes.append(sqlite3.SQLITE_FULL)
            with pytest.raises(StoreFull):
                await started(store)
            await anyio.wait_all_tasks_blocked()
            assert found == []  # that passes
            codes[0] = sqlite3.SQLITE_IOERR
            with pytest.raises(StoreFailed):
                await started(store)
    first, second = found
    assert isinstance(first, StoreFailed)
    assert isinstance(first.__cause__, sqlite3.OperationalError)
    assert str(first) == str(second)
    assert first is not second


async def test_whoever_waits_is_told_when_another_process_owns_the_file(file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store, SqliteStore(file, take_over=True):
            with pytest.raises(StoreTakenOver):
                await started(store)
            assert isinstance(await store.failure(), StoreTakenOver)


async def test_whoever_waits_is_told_when_the_store_is_left(file: Path) -> None:
    found = list[StoreError]()
    with fail_after(10):
        async with anyio.create_task_group() as tasks, SqliteStore(file) as store:
            tasks.start_soon(failures_of, store, found)
            await anyio.wait_all_tasks_blocked()
    assert [type(error) for error in (*found, await store.failure())] == [StoreClosed, StoreClosed]


async def test_the_loop_goes_on_while_the_disk_is_slow(file: Path) -> None:
    disk = SmallDisk()
    with fail_after(10):
        async with SqliteStore(file, run_batch=disk) as store, anyio.create_task_group() as tasks:
            lease = await started(store)
            disk.gate.clear()
            tasks.start_soon(store.commit, save(lease, 2))
            for _ in range(100):
                await checkpoint()
            assert (await store.load("run")).root.seq == 1  # reads do not wait for the writer
            disk.gate.set()
