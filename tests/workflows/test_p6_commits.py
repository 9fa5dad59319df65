"""A successor starts only behind its predecessor's commit, and a failed save stops the run with an error."""

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import anyio
import pytest
from tests.workflows._specimens import NAMES, specimens
from tests.workflows._words import Counted, running, until

from stagepost.checkpoint import Commit, MemoryStore, NewRun, RunStatus, SqliteStore, StoreError, StoreFailed, StoreFull
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch
from stagepost.workflows import Chain, Graph, Parallel, State, step


class Held(MemoryStore):
    """Commits only when it is let, one at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = anyio.Event()
        self.allowed = anyio.Semaphore(0)

    async def commit(self, commit: Commit) -> None:
        self.asked.set()
        await self.allowed.acquire()
        self.asked = anyio.Event()
        await super().commit(commit)

    async def next(self) -> None:
        """Wait until the next commit is asked for."""
        await self.asked.wait()


async def test_p6_no_step_starts_before_its_predecessor_is_committed() -> None:
    store, counted = Held(), Counted()
    work = Chain("work", [counted.adds(name) for name in "abc"])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        for steps in (["a"], ["a", "b"], ["a", "b", "c"]):
            await store.next()
            await anyio.wait_all_tasks_blocked()
            assert counted.calls == steps
            assert run.status is RunStatus.RUNNING
            store.allowed.release()
            await anyio.wait_all_tasks_blocked()
        await run.result()


async def test_p6_no_item_starts_before_the_items_are_frozen_and_no_next_one_before_a_commit() -> None:
    store, calls = Held(), list[int]()

    def note(item: int) -> None:
        calls.append(item)

    work = Parallel("fan", step("note", note, inline=True), over="n", workers=2)
    async with running(store, work) as runner:
        run = await runner.start(work, {"n": [0, 1, 2, 3]}, run_id="r1")
        await store.next()
        await anyio.wait_all_tasks_blocked()
        assert calls == []
        for items in (2, 3, 4, 4):
            store.allowed.release()
            await anyio.wait_all_tasks_blocked()
            assert len(calls) == items
        store.allowed.release()
        store.allowed.release()
        await run.result()


async def test_p6_a_route_is_committed_before_it_is_taken_and_a_node_before_the_next() -> None:
    store, counted = Held(), Counted()

    def choose(state: State) -> bool:
        counted.calls.append("?")
        return True

    graph = Graph("graph")
    for name in "ab":
        graph.add(name, counted.adds(name))
    graph.edge("a", "b", when=choose)
    graph.start("a")
    graph.finish("b")
    async with running(store, graph) as runner:
        run = await runner.start(graph, run_id="r1")
        await store.next()
        await anyio.wait_all_tasks_blocked()
        assert counted.calls == ["a", "?"]  # an edge is chosen together with its node
        assert (await store.load("r1")).root.next == "a"
        store.allowed.release()
        await anyio.wait_all_tasks_blocked()
        assert counted.calls == ["a", "?", "b"]
        assert (await store.load("r1")).root.next == "b"
        store.allowed.release()
        await run.result()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_p6_on_disk_too(tmp_path: Path) -> None:
    asked, allowed, counted, before = threading.Semaphore(0), threading.Semaphore(1), Counted(), [1, 2]

    def held(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        if before:  # the runner becomes an owner, and listens
            before.pop()
            return run_batch(connection, batch)
        asked.release()
        allowed.acquire()
        return run_batch(connection, batch)

    work = Chain("work", [counted.adds("a"), counted.adds("b")])
    async with running(SqliteStore(tmp_path / "runs.db", run_batch=held), work) as runner:
        await until(lambda: not before)
        run = await runner.start(work, run_id="r1")
        for _ in range(2):  # for the run itself and for its first step
            await anyio.to_thread.run_sync(asked.acquire)
        await anyio.wait_all_tasks_blocked()
        assert counted.calls == ["a"]
        for _ in range(5):
            allowed.release()
        await run.result()
        assert counted.calls == ["a", "b"]


class Failing(MemoryStore):
    """Refuses the n-th commit and all behind it, until it is mended."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.left: int | None = number

    async def commit(self, commit: Commit) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left <= 0:
                raise StoreFull(Path("disk"))
        await super().commit(commit)


@pytest.mark.in_turns
@pytest.mark.parametrize("name", NAMES)
async def test_p6_a_failed_save_at_any_commit_stops_the_run_with_an_error(name: str) -> None:
    notes: list[str] = []
    specimen = specimens(notes.append)[name]
    expected = await specimen.workflow.run(specimen.state)
    steps, number, ended = len(notes), 0, False
    while not ended:
        number += 1
        notes.clear()
        store = Failing(number)
        async with running(store, specimen.workflow) as runner:
            run = await runner.start(specimen.workflow, specimen.state, run_id="r1")
            try:
                await run.result()
                ended = True
            except StoreFull as error:
                assert "no space left" in str(error)  # noqa: PT017  # the last round does not raise
                assert run.status is RunStatus.RUNNING
                so_far = list(notes)
                await anyio.lowlevel.checkpoint()
                assert notes == so_far  # nothing goes on behind its back
                store.left = None
                (again,) = (await runner.recover()).resumed
                assert await again.result() == expected
        assert len(set(notes)) == steps
        assert len(notes) - steps <= specimen.at_once
    assert number > 4  # the shortest has as many commits


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("code", "kind"), [(sqlite3.SQLITE_FULL, StoreFull), (sqlite3.SQLITE_IOERR, StoreFailed)], ids=["full", "broken"]
)
async def test_p6_a_failing_disk_stops_the_run_with_an_error(tmp_path: Path, code: int, kind: type[StoreError]) -> None:
    healthy, counted, before = 2, Counted(), [1, 2]

    def failing(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        nonlocal healthy
        if before:  # as above
            before.pop()
            return run_batch(connection, batch)
        healthy -= 1
        if healthy >= 0:
            return run_batch(connection, batch)
        error = sqlite3.OperationalError("the disk says no")
        error.sqlite_errorcode = code
        return [Outcome(error=error)] * len(batch)

    work = Chain("work", [counted.adds(name) for name in "abc"])
    async with running(SqliteStore(tmp_path / "runs.db", run_batch=failing), work) as runner:
        await until(lambda: not before)
        run = await runner.start(work, run_id="r1")
        with pytest.raises(kind):
            await run.result()
    assert counted.calls == ["a", "b"]  # b has run, and its result was not saved
    async with running(SqliteStore(tmp_path / "runs.db"), work) as runner:
        result = await (await runner.recover()).resumed[0].result()
    assert result["path"] == ["a", "b", "c"]
    assert counted.calls == ["a", "b", "b", "c"]


async def test_p6_a_run_that_cannot_be_stored_does_not_start() -> None:
    class Full(MemoryStore):
        async def create(self, run: NewRun) -> NoReturn:  # noqa: ARG002  # the protocol's signature
            raise StoreFull(Path("disk"))

    counted = Counted()
    work = Chain("work", [counted.adds("a")])
    async with running(Full(), work) as runner:
        with pytest.raises(StoreFull):
            await runner.start(work)
    assert counted.calls == []
