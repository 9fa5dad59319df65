"""Pages of runs and of open waits: in the order of an index, and never by reading all there is."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from tests.checkpoint._builders import new_run

from stagepost.checkpoint import NewRun, NewWait, NotInHistory, Page, RunInfo, RunStatus, SqliteStore, WaitKind
from stagepost.checkpoint._sqlite import _ranges
from stagepost.checkpoint._sqlite._queries import Query, Row

Ask: TypeAlias = Callable[["Explaining"], Awaitable[object]]
A_TIME: Final = datetime(2001, 1, 1, tzinfo=UTC)


class Explaining(SqliteStore):
    """Notes how SQLite goes about each query, and how many steps of its machine one takes."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, clock=self._tick)
        self.plans: list[str] = []
        self.steps = 0
        self._second = 0

    def _tick(self) -> float:
        self._second += 1
        return float(self._second)

    async def _read(self, query: Query) -> Sequence[Row]:
        with closing(sqlite3.connect(self.path)) as connection:
            rows = connection.execute(f"EXPLAIN QUERY PLAN {query.text}", query.values).fetchall()
            self.plans += [row[3] for row in rows]
            connection.set_progress_handler(self._count, 100)
            connection.execute(query.text, query.values).fetchall()
        return await super()._read(query)

    def _count(self) -> None:
        self.steps += 100


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(_ranges, "LOOKS", 10)
    return 10


@asynccontextmanager
async def filled(file: Path, runs: int) -> AsyncIterator[Explaining]:
    """Runs of two workflows that start a second after each other: every seventh has failed, every fifth waits."""
    async with Explaining(file) as store:
        for number in range(runs):
            await store.create(a_run(f"run-{number * 7 % runs:03}", "odd" if number % 2 else "even"))
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE runs SET status = 'failed', finished_at = created_at WHERE rk % 7 = 0")
        yield store


def a_run(run_id: str, workflow: str) -> NewRun:
    return replace(new_run(run_id), workflow=workflow)


async def pages_of(ask: Callable[[str], Awaitable[Page[RunInfo]]]) -> list[Page[RunInfo]]:
    pages = [await ask("")]
    while pages[-1].next is not None:
        pages.append(await ask(pages[-1].next))
    return pages


def ids(pages: Sequence[Page[RunInfo]]) -> list[str]:
    return [run.run_id for page in pages for run in page.items]


def is_slow(plan: str) -> bool:
    """Whether rows are sorted, or read that are in no range."""
    is_scan = "SCAN" in plan and "VIRTUAL TABLE INDEX" not in plan and plan not in _FEW
    return is_scan or "TEMP B-TREE" in plan


_FEW: Final = ("SCAN names", "SCAN CONSTANT ROW")  # the names of workflows, which were found one by one
ASKED: Final[dict[str, Ask]] = {
    "all": lambda store: store.find(),
    "status": lambda store: store.find(status=RunStatus.FAILED),
    "statuses": lambda store: store.find(status={RunStatus.RUNNING, RunStatus.WAITING}),
    "workflow": lambda store: store.find(workflow="even"),
    "since": lambda store: store.find(since=A_TIME),
    "until": lambda store: store.find(until=A_TIME, newest_first=True),
    "several": lambda store: store.find(workflow="even", status=RunStatus.FAILED, since=A_TIME),
    "label": lambda store: store.find(labels={"tenant": "a"}),
    "labels": lambda store: store.find(labels={"tenant": "a", "region": "x"}, newest_first=True, after="1000.2"),
    "labels of a workflow": lambda store: store.find(labels={"tenant": "a"}, workflow="even", since=A_TIME),
    "page": lambda store: store.find(workflow="even", newest_first=True, after="1000.2"),
    "page before": lambda store: store.find(workflow="even", before="1000.2"),
    "below": lambda store: store.find(below="run-1", status=RunStatus.FAILED, after="run-1.a"),
    "ended": lambda store: store.find(ended_since=A_TIME),
    "ended of a workflow": lambda store: store.find(ended_until=A_TIME, workflow="even", newest_first=True),
    "text": lambda store: store.find(text="no answer"),
    "text and more": lambda store: store.find(text="no answer", status=RunStatus.FAILED, before="7"),
    "stored": lambda store: store.stored("7"),
    "count by status": lambda store: store.count(by="status"),
    "count by workflow": lambda store: store.count(by="workflow", since=A_TIME),
    "count a workflow": lambda store: store.count(by="status", workflow="even"),
    "count a label": lambda store: store.count(labels={"tenant": "a"}),
    "count several": lambda store: store.count(labels={"tenant": "a"}, workflow="even", until=A_TIME),
    "count words": lambda store: store.count(text="no answer"),
    "waits": lambda store: store.waits(),
    "waits before": lambda store: store.waits(kind=WaitKind.CHILD, before="run/step"),
    "waits of a kind": lambda store: store.waits(kind=WaitKind.CHILD, after="run/step"),
    "waits of a run": lambda store: store.waits(run_id="run-1", after="run-1/step"),
    "waits below a run": lambda store: store.waits(below="run-1"),
    "signals": lambda store: store.signals("run-1", after="3"),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
async def test_a_page_reads_a_range_of_an_index_and_sorts_nothing(file: Path, ask: Ask) -> None:
    async with Explaining(file) as store:
        await ask(store)
        assert [plan for plan in store.plans if is_slow(plan)] == []
        assert any("SEARCH" in plan or "VIRTUAL TABLE" in plan for plan in store.plans)


async def test_a_key_is_found_by_its_index(file: Path) -> None:
    async with Explaining(file) as store:
        await store.find(key="order-1")
        assert "SEARCH runs USING INDEX runs_key (key=?)" in store.plans
        assert [plan for plan in store.plans if "SCAN" in plan] == []


@pytest.mark.parametrize("newest_first", [False, True], ids=["oldest first", "newest first"])
@pytest.mark.parametrize("limit", [1, 3, 50])
async def test_pages_have_each_run_once_in_the_order_of_their_starts(
    file: Path,
    looks: int,
    limit: int,
    newest_first: bool,  # noqa: FBT001  # a table
) -> None:
    async with filled(file, 50) as store:
        for status, workflow in ((None, None), (RunStatus.FAILED, None), (None, "odd"), (RunStatus.FAILED, "odd")):
            expected = [
                f"run-{number * 7 % 50:03}"
                for number in range(50)
                if (status is None or (number + 1) % 7 == 0) and (workflow is None or number % 2)
            ]

            async def ask(after: str) -> Page[RunInfo]:
                return await store.find(
                    status=status,  # noqa: B023  # called before the next one is bound
                    workflow=workflow,  # noqa: B023  # the same
                    newest_first=newest_first,
                    after=after,
                    limit=limit,
                )

            pages = await pages_of(ask)
            assert ids(pages) == (expected[::-1] if newest_first else expected)
            assert all(len(page.items) <= limit for page in pages)
            assert len(pages) <= max(1, -(-len(expected) // limit)) + 50 // looks


@pytest.mark.parametrize("newest_first", [False, True], ids=["oldest first", "newest first"])
async def test_pages_by_labels_have_each_run_once_in_the_order_of_their_starts(
    file: Path,
    looks: int,
    newest_first: bool,  # noqa: FBT001  # a table
) -> None:
    async with filled(file, 50) as store:
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("INSERT INTO labels SELECT rk, 'all', 'yes', created_at FROM runs")
            connection.execute("INSERT INTO labels SELECT rk, 'third', 'yes', created_at FROM runs WHERE rk % 3 = 0")

        async def ask(after: str) -> Page[RunInfo]:
            labels = {"all": "yes", "third": "yes"}
            return await store.find(labels=labels, workflow="odd", newest_first=newest_first, after=after, limit=2)

        pages = await pages_of(ask)
        expected = [f"run-{(rk - 1) * 7 % 50:03}" for rk in range(1, 51) if rk % 3 == 0 and rk % 2 == 0]
        assert ids(pages) == (expected[::-1] if newest_first else expected)
        assert all(run.labels == {"all": "yes", "third": "yes"} for page in pages for run in page.items)
        assert len(pages) <= -(-len(expected) // 2) + 50 // looks


async def test_a_page_ends_after_so_many_runs_were_looked_at(file: Path, looks: int) -> None:
    async with filled(file, 50) as store:
        page = await store.find(status=RunStatus.RUNNING, workflow="none such")
        assert (page.items, page.next) == ((), None)  # the index says so
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE runs SET status = iif(workflow = 'even', 'running', 'failed')")
        page = await store.find(status=RunStatus.FAILED, workflow="even", newest_first=True)
        assert page.items == ()
        assert page.next is not None
        row = int(page.next.partition(".")[2])
        assert len(range(row, 50, 2)) == looks


async def test_the_way_with_fewer_runs_is_taken(file: Path, looks: int) -> None:
    async with filled(file, 50) as store:
        for status, workflow in ((RunStatus.FAILED, "even"), (RunStatus.RUNNING, "rare")):
            with closing(sqlite3.connect(file)) as connection, connection:
                connection.execute("UPDATE runs SET workflow = 'rare' WHERE rk = 50")
            page = await store.find(status=status, workflow=workflow)
            assert page.next is None
            assert page.items


async def test_a_page_by_one_filter_takes_as_long_whatever_else_is_stored(file: Path) -> None:
    steps = []
    async with filled(file, 50) as store:
        for _ in range(2):
            with closing(sqlite3.connect(file)) as connection, connection:
                connection.execute("DELETE FROM failures")
                connection.execute("INSERT INTO failures (rowid, words) SELECT rk, 'it is broken' FROM runs")
            store.steps = 0
            await store.find(status=RunStatus.FAILED, limit=5)
            await store.find(status=RunStatus.DEAD, limit=5)
            await store.find(workflow="odd", limit=5)
            await store.find(since=datetime.fromtimestamp(10, UTC), limit=5)
            await store.find(ended_since=datetime.fromtimestamp(10, UTC), limit=5)
            await store.find(below="run-02", limit=5)
            await store.find(text="broken", limit=5)
            await store.waits(limit=5)
            steps.append(store.steps)
            for number in range(300):
                await store.create(a_run(f"more-{number}", "odd"))
    assert steps[1] <= steps[0] + 100


async def test_runs_of_a_workflow_are_counted_by_status_from_one_index_if_they_are_many(file: Path, looks: int) -> None:
    async with filled(file, 50) as store:
        assert looks < 25
        store.plans.clear()
        counts = await store.count(by="status", workflow="odd")
        assert (counts.total, counts.by[RunStatus.RUNNING], counts.by[RunStatus.FAILED]) == (25, 22, 3)
        assert any("COVERING INDEX runs_status" in plan for plan in store.plans)
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE runs SET workflow = 'rare' WHERE rk = 7")
        store.plans.clear()
        assert await store.count(by="status", workflow="rare") == (1, dict.fromkeys(RunStatus, 0) | {"failed": 1})
        assert not any("COVERING INDEX runs_status" in plan for plan in store.plans[-1:])
        assert await store.count(by="workflow", status=RunStatus.FAILED) == (7, {"even": 3, "odd": 3, "rare": 1})


async def test_waits_of_ended_runs_hold_no_page_up(file: Path, looks: int) -> None:
    async with SqliteStore(file) as store:
        for number in range(30):
            lease, _ = await store.create(new_run(f"run-{number:02}"))
            assert lease is not None
            await store.wait(lease, NewWait("ask", WaitKind.ANSWER, "ask"))
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE runs SET status = 'failed', finished_at = 1 WHERE rk < 30")
        first = await store.waits(limit=2)
        assert (first.items, first.next) == ((), "run-09/ask")
        second = await store.waits(after=str(first.next), limit=2)
        third = await store.waits(after=str(second.next), limit=2)
        assert [wait.run_id for wait in third.items] == ["run-29"]
        assert await store.waits(after=str(third.next)) == Page((), previous=third.next)
        assert (await store.waits(before=third.next, limit=2)).items == third.items
    assert looks == 10


async def test_runs_that_start_in_the_same_moment_are_told_apart(file: Path) -> None:
    async with SqliteStore(file, clock=lambda: 1.0) as store:
        for number in range(5):
            await store.create(new_run(f"run-{number}"))

        async def ask(after: str) -> Page[RunInfo]:
            return await store.find(newest_first=True, after=after, limit=2)

        assert ids(await pages_of(ask)) == ["run-4", "run-3", "run-2", "run-1", "run-0"]


@pytest.mark.parametrize("after", ["1", "x.y", "run-1"])
async def test_a_cursor_that_is_none_is_refused(file: Path, after: str) -> None:
    async with SqliteStore(file) as store:
        with pytest.raises(ValueError, match="is no place among these runs: give next or previous"):
            await store.find(after=after)


async def test_after_a_number_that_no_run_can_have_there_is_nothing(file: Path) -> None:
    most = 10**30
    async with SqliteStore(file) as store:
        await store.create(new_run("run"))
        for after in (f"{most}.{most}", f"1.{most}"):
            assert ids([await store.find(after=f"{most}.1"), await store.find(before=f"-{after}")]) == []
        for text in ("words", None):
            assert ids([await store.find(before=f"{most}" if text else f"{most}.1", text=text)]) == (
                [] if text else ["run"]
            )
        assert ids([await store.stored(after=str(most))]) == []
        for ask in (store.signals, store.history):
            assert (await ask("run", after=most, limit=most)).items == ()
        assert (await store.happenings("run", after=most)).items == ()
        for number in (most, -most):
            with pytest.raises(NotInHistory):
                await store.load("run", at=number)


async def test_a_page_has_one_entry_at_least(file: Path) -> None:
    async with SqliteStore(file) as store:
        for ask in (store.find, store.waits):
            with pytest.raises(ValueError, match="limit=0: a page has one entry at least"):
                await ask(limit=0)
        with pytest.raises(ValueError, match="limit=0"):
            await store.signals("run", limit=0)


async def test_runs_of_no_status_are_none(file: Path) -> None:
    async with filled(file, 3) as store:
        assert await store.find(status=[]) == Page(())
        assert await store.find(status=[], workflow="odd") == Page(())
        assert len((await store.find(status=["running", RunStatus.RUNNING])).items) == 3  # type: ignore[list-item]  # its text
