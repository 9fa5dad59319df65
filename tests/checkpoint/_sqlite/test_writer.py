import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from tests.checkpoint._builders import Batches, connect, insert, rows, sqlite_error

from stagepost.checkpoint import StoreClosed, StoreFailed, StoreLocked
from stagepost.checkpoint._sqlite import _thread
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch
from stagepost.checkpoint._sqlite._thread import WritingThread
from stagepost.checkpoint._sqlite._writer import Writer


@asynccontextmanager
async def opened(file: Path, **options: Any) -> AsyncIterator[Writer]:
    writer = Writer(file, connect(file), **options)
    try:
        await writer.start()
        yield writer
    finally:
        await writer.close()


class Gate:
    """A disk that is silent until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()
        self.batches: list[int] = []

    def __call__(self, connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        self.batches.append(len(batch))
        self.entered.set()
        self.open.wait(10)
        return run_batch(connection, batch)

    async def reached(self) -> None:
        while not self.entered.is_set():
            await checkpoint()


async def many(writer: Writer, count: int) -> list[int]:
    results: list[int] = []

    async def write(number: int) -> None:
        results.append(await writer.write(insert(number)))

    async with anyio.create_task_group() as tasks:
        for number in range(count):
            tasks.start_soon(write, number)
    return results


async def failing(writer: Writer, work: Callable[[sqlite3.Connection], object], errors: list[Exception]) -> None:
    try:
        await writer.write(work)
    except StoreFailed as error:
        errors.append(error)


async def test_what_is_written_is_on_disk_when_the_call_returns(file: Path) -> None:
    with fail_after(5):
        async with opened(file) as writer:
            assert await writer.write(insert(1)) == 1
            assert rows(file) == [1]


async def test_a_hundred_concurrent_writers_share_a_few_commits(file: Path) -> None:
    gate = Gate()
    with fail_after(5):
        async with opened(file, run_batch=gate) as writer, anyio.create_task_group() as tasks:
            tasks.start_soon(writer.write, insert("first"))
            await gate.reached()
            async with anyio.create_task_group() as inner:
                inner.start_soon(many, writer, 100)
                await anyio.wait_all_tasks_blocked()
                gate.open.set()
            assert len(rows(file)) == 101
    assert gate.batches == [1, 100]


async def test_requests_are_done_in_the_order_they_came(file: Path) -> None:
    order: list[int] = []
    with fail_after(5):
        async with opened(file) as writer, anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(writer.write, lambda _, number=number: order.append(number))
    assert order == list(range(50))


async def test_a_cancelled_caller_still_learns_the_outcome(file: Path) -> None:
    with fail_after(5):
        async with opened(file) as writer:
            with anyio.CancelScope() as scope:
                scope.cancel()
                assert await writer.write(insert(1)) == 1
            assert rows(file) == [1]


async def test_a_caller_cancelled_while_it_waits_learns_the_outcome(file: Path) -> None:
    gate, results = Gate(), list[object]()

    async def write() -> None:
        results.append(await writer.write(insert(1)))
        await checkpoint()
        results.append("never reached")

    with fail_after(5):
        async with opened(file, run_batch=gate) as writer, anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await gate.reached()
            tasks.cancel_scope.cancel()
            gate.open.set()
        assert (results, rows(file)) == ([1], [1])


async def test_close_writes_what_is_queued(file: Path) -> None:
    gate = Gate()
    with fail_after(5):
        async with anyio.create_task_group() as tasks, opened(file, run_batch=gate) as writer:
            tasks.start_soon(many, writer, 20)
            await gate.reached()
            gate.open.set()
        assert rows(file) == list(range(20))


async def test_a_closed_writer_refuses(file: Path) -> None:
    async with opened(file) as writer:
        pass
    with pytest.raises(StoreClosed):
        await writer.write(insert(1))
    with fail_after(5):
        await Writer(file, connect(file)).close()  # never started: nothing to do


async def test_closing_leaves_one_file(file: Path) -> None:
    async with opened(file) as writer:
        await writer.write(insert(1))
    assert [path.name for path in file.parent.iterdir()] == [file.name]


async def test_what_opening_raises_reaches_the_opener(file: Path) -> None:
    def refuse() -> sqlite3.Connection:
        raise PermissionError("no")

    writer = Writer(file, refuse)
    with fail_after(5):
        with pytest.raises(PermissionError, match="no"):
            await writer.start()
        await writer.close()


async def test_more_than_the_backlog_waits_outside(file: Path) -> None:
    gate = Gate()
    with fail_after(5):
        async with opened(file, run_batch=gate, backlog=3) as writer:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(many, writer, 10)
                await gate.reached()
                await anyio.wait_all_tasks_blocked()
                assert len(writer._pending) == 3
                gate.open.set()
            assert rows(file) == list(range(10))
    assert max(gate.batches) <= 3


async def test_a_caller_outside_the_backlog_can_be_cancelled(file: Path) -> None:
    gate = Gate()
    with fail_after(5):
        async with opened(file, run_batch=gate, backlog=1) as writer, anyio.create_task_group() as tasks:
            tasks.start_soon(writer.write, insert(1))
            await gate.reached()
            with anyio.CancelScope() as scope:
                scope.cancel()
                await writer.write(insert(2))
            gate.open.set()
    assert (scope.cancelled_caught, rows(file)) == (True, [1])


# failures


async def test_an_io_error_breaks_the_store_for_good(file: Path) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        raise sqlite_error(sqlite3.SQLITE_IOERR, "disk I/O error")

    batches = Batches()
    with fail_after(5):
        async with opened(file, run_batch=batches) as writer:
            await writer.write(insert(1))
            with pytest.raises(StoreFailed, match="disk I/O error") as first:
                await writer.write(fail)
            for _ in range(2):
                with pytest.raises(StoreFailed, match="reopen the store") as later:
                    await writer.write(insert(2))
                assert isinstance(later.value.__cause__, sqlite3.OperationalError)
            assert first.value is not later.value
    assert (rows(file), batches.sizes) == ([1], [1, 1])


async def test_after_an_io_error_nothing_that_waits_touches_the_disk(file: Path) -> None:
    gate, errors = Gate(), list[Exception]()
    touched: list[str] = []

    def fail(connection: sqlite3.Connection) -> None:
        connection.set_trace_callback(touched.append)
        raise sqlite_error(sqlite3.SQLITE_IOERR, "disk I/O error")

    with fail_after(5):
        async with opened(file, run_batch=gate) as writer, anyio.create_task_group() as tasks:
            tasks.start_soon(failing, writer, fail, errors)
            await gate.reached()
            for number in range(5):
                tasks.start_soon(failing, writer, insert(number), errors)
            await anyio.wait_all_tasks_blocked()
            gate.open.set()
    assert len(errors) == 6
    assert len(set(map(id, errors))) == 6
    assert gate.batches == [1]
    assert [statement for statement in touched if statement != "ROLLBACK"] == []


async def test_a_silent_disk_fails_everybody_who_waits(file: Path) -> None:
    gate, errors = Gate(), list[Exception]()
    with fail_after(5):
        writer = Writer(file, connect(file), run_batch=gate, limit=0.1, backlog=4)
        await writer.start()
        async with anyio.create_task_group() as tasks:
            for number in range(7):  # 4 in the queue, 3 outside
                tasks.start_soon(failing, writer, insert(number), errors)
        assert [error.args for error in errors] == [errors[0].args] * 7
        assert "no answer from the disk within 0.1 s" in str(errors[0])
        with pytest.raises(StoreFailed, match="no answer"):
            await writer.write(insert(8))
        gate.open.set()
        await writer.close()
    assert len(gate.batches) == 1


async def test_one_timer_watches_over_the_oldest_request_and_rests_when_there_is_none(file: Path) -> None:
    gate = Gate()
    with fail_after(5):
        async with opened(file, run_batch=gate, limit=60) as writer, anyio.create_task_group() as tasks:
            assert writer._watch is None
            tasks.start_soon(writer.write, insert(1))
            await gate.reached()
            first = writer._watch
            assert first is not None
            tasks.start_soon(writer.write, insert(2))
            await anyio.wait_all_tasks_blocked()
            assert writer._watch is first
            writer._look()  # as the timer would: nobody has waited too long yet
            assert writer._watch not in (None, first)
            gate.open.set()
            await writer.write(insert(3))
            writer._look()
            assert writer._watch is None
    assert rows(file) == [1, 2, 3]


@pytest.mark.parametrize("times", [1, 3])
async def test_a_caller_cancelled_by_asyncio_itself_learns_of_its_commit_and_then_ends(file: Path, times: int) -> None:
    gate, seen = Gate(), list[object]()

    async def caller() -> None:
        seen.append(await writer.write(insert(1)))
        await asyncio.sleep(0)
        seen.append("went on")

    with fail_after(5):
        async with opened(file, run_batch=gate) as writer:
            task = asyncio.create_task(caller())
            await gate.reached()
            for _ in range(times):
                task.cancel()
                await anyio.wait_all_tasks_blocked()
            assert not task.done()
            gate.open.set()
            with pytest.raises(asyncio.CancelledError):
                await task
    assert seen == [1]
    assert rows(file) == [1]


async def test_an_answer_that_comes_with_the_cancellation_is_not_lost(file: Path) -> None:
    gate, seen = Gate(), list[object]()

    async def caller() -> None:
        seen.append(await writer.write(insert(1)))

    with fail_after(5):
        async with opened(file, run_batch=gate) as writer:
            task = asyncio.create_task(caller())
            await gate.reached()
            task.cancel()
            writer.delivered(list(writer._pending), [Outcome(7)])  # before the task has heard of it
            await asyncio.wait([task])
            gate.open.set()
    assert seen == [7]


async def test_a_timeout_of_asyncio_round_a_commit_is_a_timeout_behind_it(file: Path) -> None:
    gate, seen = Gate(), list[object]()

    async def commit_in_no_time(writer: Writer) -> None:
        async with asyncio.timeout(0.01):
            seen.append(await writer.write(insert(1)))
            await asyncio.sleep(0)
            seen.append("went on")

    with fail_after(5):
        async with opened(file, run_batch=gate) as writer:
            task = asyncio.create_task(commit_in_no_time(writer))
            await gate.reached()
            while not task.cancelling():
                await checkpoint()
            gate.open.set()
            with pytest.raises(TimeoutError):
                await task
    assert seen == [1]
    assert rows(file) == [1]


async def test_closing_does_not_wait_for_a_silent_disk_for_ever(file: Path) -> None:
    gate = Gate()
    with fail_after(5):
        writer = Writer(file, connect(file), run_batch=gate, limit=0.05)
        await writer.start()
        with pytest.raises(StoreFailed):
            await writer.write(insert(1))
        await writer.close()
        gate.open.set()
        await anyio.to_thread.run_sync(writer._thread.join)


async def test_a_bug_in_a_request_fails_all_and_hangs_nobody(file: Path) -> None:
    gate, errors = Gate(), list[Exception]()

    def bug(_: sqlite3.Connection) -> None:
        raise ZeroDivisionError("the bug")

    with fail_after(5):
        async with opened(file, run_batch=gate) as writer, anyio.create_task_group() as tasks:
            tasks.start_soon(failing, writer, bug, errors)
            await gate.reached()
            for number in range(3):
                tasks.start_soon(failing, writer, insert(number), errors)
            await anyio.wait_all_tasks_blocked()
            gate.open.set()
    assert ["the writing thread died: ZeroDivisionError('the bug')" in str(error) for error in errors] == [True] * 4
    assert rows(file) == []


# another process holds the write lock


class Held:
    """Another process that holds the write lock now and then; what comes back of a batch is made up."""

    def __init__(self, *times: bool) -> None:
        self.times = list(times)
        self.seen: list[int] = []

    def __call__(self, connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        self.seen.append(len(batch))
        if not self.times or not self.times.pop(0):
            return run_batch(connection, batch)
        return [Outcome(error=sqlite_error(sqlite3.SQLITE_BUSY, "database is locked")) for _ in batch]


async def test_what_is_patient_is_tried_again_and_what_is_not_gives_up_after_five_tries(file: Path) -> None:
    held, errors = Held(*[True] * 7), list[StoreLocked]()

    async def impatient() -> None:
        try:
            await writer.write(insert("outside"), patient=False)
        except StoreLocked as error:
            errors.append(error)

    with fail_after(10):
        async with opened(file, run_batch=held, holder=lambda: "them") as writer:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(writer.write, insert("run"))
                tasks.start_soon(impatient)
            assert rows(file) == ["run"]
    assert [(error.holder, error.waited, error.is_writing) for error in errors] == [("them", 5, True)]


async def test_of_a_batch_that_was_done_in_parts_only_what_was_not_done_is_tried_again(file: Path) -> None:
    gate, tries = Gate(), list[int]()

    def run(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        tries.append(len(batch))
        outcomes = gate(connection, batch[:1])
        busy = Outcome(error=sqlite_error(sqlite3.SQLITE_BUSY, "database is locked"))
        return [*outcomes, *(busy for _ in batch[1:])]

    with fail_after(10):
        async with opened(file, run_batch=run) as writer, anyio.create_task_group() as tasks:
            tasks.start_soon(writer.write, insert(0))
            await gate.reached()
            for number in range(1, 4):
                tasks.start_soon(writer.write, insert(number))
            await anyio.wait_all_tasks_blocked()
            gate.open.set()
    assert rows(file) == [0, 1, 2, 3]
    assert tries == [1, 3, 2, 1]


async def test_while_the_lock_is_held_the_disk_is_not_silent(file: Path) -> None:
    with fail_after(10):
        async with opened(file, run_batch=Held(*[True] * 40), limit=0.2) as writer:
            assert await writer.write(insert(1)) == 1


async def test_a_disk_that_is_silent_after_the_lock_was_let_go_is_silent(file: Path) -> None:
    gate, held = Gate(), [True] * 3

    def run(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        if held and held.pop():
            return [Outcome(error=sqlite_error(sqlite3.SQLITE_BUSY, "database is locked")) for _ in batch]
        return gate(connection, batch)

    with fail_after(10):
        writer = Writer(file, connect(file), run_batch=run, limit=0.1)
        await writer.start()
        with pytest.raises(StoreFailed, match="no answer from the disk"):
            await writer.write(insert(1))
        gate.open.set()
        await writer.close()


# the write-ahead log


def size(file: Path) -> int:
    return file.stat().st_size


class Checkpoints:
    """Counts what the thread does about the WAL and tells a waiting test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.modes: list[str] = []
        shrink = WritingThread._shrink

        def counted(thread: WritingThread, connection: sqlite3.Connection, mode: str = "PASSIVE") -> bool:
            done = shrink(thread, connection, mode)
            self.modes.append(mode)
            return done

        monkeypatch.setattr(WritingThread, "_shrink", counted)

    async def reach(self, count: int) -> None:
        while len(self.modes) < count:
            await checkpoint()


async def test_an_idle_writer_copies_the_wal_once_and_then_rests(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_thread, "_IDLE", 0.001)
    checkpoints = Checkpoints(monkeypatch)
    with fail_after(5):
        async with opened(file) as writer:
            await writer.write(insert(1))
            await checkpoints.reach(1)
            before = len(checkpoints.modes)
            await writer.write(insert(2))
            await checkpoints.reach(before + 1)
    assert checkpoints.modes == ["PASSIVE", "PASSIVE", "TRUNCATE"]


async def test_a_large_wal_is_copied_between_batches(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_thread, "LARGEST_WAL", 50_000)
    checkpoints = Checkpoints(monkeypatch)
    with fail_after(5):
        async with opened(file) as writer:
            for number in range(8):
                await writer.write(insert(f"{number}" + "x" * 10_000))
            assert "PASSIVE" in checkpoints.modes
            assert size(file) > 50_000


async def test_a_broken_writer_leaves_the_wal_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: sqlite3.Connection) -> None:
        raise sqlite_error(sqlite3.SQLITE_IOERR, "disk I/O error")

    statements: list[str] = []
    with fail_after(5):
        async with opened(file) as writer:
            await writer.write(lambda connection: connection.set_trace_callback(statements.append))
            with pytest.raises(StoreFailed):
                await writer.write(fail)
    assert [statement for statement in statements if "checkpoint" in statement] == []


async def test_a_wal_that_cannot_be_copied_is_left_for_later(file: Path) -> None:
    def refuse_checkpoints(connection: sqlite3.Connection) -> None:
        connection.set_authorizer(
            lambda action, name, *_: (
                sqlite3.SQLITE_DENY
                if action == sqlite3.SQLITE_PRAGMA and name == "wal_checkpoint"
                else sqlite3.SQLITE_OK
            )
        )

    with fail_after(5):
        async with opened(file) as writer:
            await writer.write(refuse_checkpoints)
            await writer.write(insert(1))
    assert rows(file) == [1]


async def test_a_database_without_a_wal_has_a_wal_of_no_size(tmp_path: Path) -> None:
    assert Writer(tmp_path / "none.db", connect(tmp_path / "none.db"))._thread._wal_size() == 0


def test_a_thread_that_outlives_its_loop_ends_quietly(file: Path) -> None:
    gate = Gate()
    threads: list[threading.Thread] = []

    async def leave_it() -> None:
        writer = Writer(file, connect(file), run_batch=gate, limit=0.01)
        await writer.start()
        threads.append(writer._thread._thread)
        with pytest.raises(StoreFailed):
            await writer.write(insert(1))
        await writer.close()

    anyio.run(leave_it)
    gate.open.set()
    threads[0].join(5)
    assert not threads[0].is_alive()
