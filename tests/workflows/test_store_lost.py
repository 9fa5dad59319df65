"""A store that takes nothing more: whoever waits for a run is told, whatever the run waits for itself."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import pytest
from tests.workflows._words import Gate, running

from stagepost.checkpoint import RunStatus, SqliteStore, StoreError, StoreFailed, StoreFull, StoreLost, StoreTakenOver
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch
from stagepost.workflows import Chain, Run, State, Step, StepContext, Wait, step

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


class Disk:
    """A disk that fails from the moment on when it is told to, or is full."""

    def __init__(self, code: int = sqlite3.SQLITE_IOERR) -> None:
        self.fails = False
        self._code = code

    def __call__(self, connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        if not self.fails:
            return run_batch(connection, batch)
        error = sqlite3.OperationalError("the disk says no")
        error.sqlite_errorcode = self._code
        return [Outcome(error=error)] * len(batch)


async def told(run: Run, errors: list[StoreError]) -> None:
    try:
        await run.result()
    except StoreError as error:
        errors.append(error)


PARKED = Chain("parked", [Wait("ask")])


async def test_whoever_waits_for_a_parked_run_is_told_that_the_disk_has_failed(tmp_path: Path) -> None:
    disk, gate, errors = Disk(), Gate(), list[StoreError]()
    busy = Chain("busy", [gate.step])
    async with running(SqliteStore(tmp_path / "runs.db", run_batch=disk), PARKED, busy, max_running=2) as runner:
        parked = await runner.start(PARKED, run_id="parked")
        await parked.settled()
        held = [await runner.start(busy) for _ in range(2)]
        in_line = await runner.start(PARKED, run_id="in-line")
        async with anyio.create_task_group() as tasks:
            for run in (parked, await runner.get("parked"), in_line):
                tasks.start_soon(told, run, errors)
            await gate.entered.wait()
            disk.fails = True
            with pytest.raises(StoreFailed):
                await runner.answer("parked/ask", 1)
        assert [type(error) for error in errors] == [StoreFailed] * 3
        assert (parked.status, held[0].status) == (RunStatus.RUNNING, RunStatus.RUNNING)
        with pytest.raises(StoreFailed, match="the disk says no"):  # who asks behind it need not wait either
            await (await runner.get("parked")).result()
        gate.open.set()
        for run in held:
            with pytest.raises(StoreFailed):
                await run.result()


def asks(below: Chain) -> Step:
    """A step that waits for a run of another chain."""

    async def ask_below(_: State, context: StepContext) -> Mapping[str, object]:
        return dict(await context.child(below, "kid", {}))

    return step("ask-below", ask_below)


class Family:
    """A root whose grandchild waits and then fills the disk, or breaks it, once."""

    def __init__(self, disk: Disk) -> None:
        self.deaths = 0

        def die(_: State) -> Mapping[str, object]:
            disk.fails, self.deaths = not self.deaths, self.deaths + 1
            return {}

        grandchild = Chain("grandchild", [Wait("ask"), step("die", die)])
        child = Chain("child", [asks(grandchild)], companions=[grandchild])
        self.root = Chain("root", [asks(child)], companions=[child])


async def test_whoever_waits_for_the_parent_is_told_that_the_store_died_under_the_child(tmp_path: Path) -> None:
    root = Family(disk := Disk()).root
    async with running(SqliteStore(tmp_path / "runs.db", run_batch=disk), root) as runner:
        run = await runner.start(root, run_id="r")
        assert await run.settled() is RunStatus.WAITING
        await runner.answer("r.kid.kid/ask", 1)
        with pytest.raises(StoreFailed):
            await run.result()
    async with running(SqliteStore(tmp_path / "runs.db"), Family(Disk()).root) as runner:
        await runner.recover()
        assert (await (await runner.get("r")).result())["ask"] == 1


@pytest.mark.parametrize("looks", ["started", "recovered"])
async def test_whoever_waits_for_the_parent_is_told_that_the_disk_is_full_under_the_child(
    tmp_path: Path, looks: str
) -> None:
    root = Family(disk := Disk(sqlite3.SQLITE_FULL)).root
    async with running(SqliteStore(tmp_path / "runs.db", run_batch=disk), root) as runner:
        run = await runner.start(root, run_id="r")
        await run.settled()
        if looks == "recovered":  # a handle of a run that rests, and of which nothing is in memory
            del run
            run = await runner.get("r")
        await runner.answer("r.kid.kid/ask", 1)
        with pytest.raises(StoreFull):
            await run.result()
        disk.fails = False
        await runner.recover()
        assert (await (await runner.get("r")).result())["ask"] == 1


async def test_whoever_waits_for_a_parked_run_is_told_that_its_store_was_taken_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(SqliteStore(tmp_path / "runs.db"), PARKED) as runner:
        run = await runner.start(PARKED, run_id="parked")
        await run.settled()
        async with SqliteStore(tmp_path / "runs.db", take_over=True):
            with pytest.raises(StoreTakenOver):
                await runner.start(PARKED)
            with pytest.raises(StoreTakenOver):
                await run.result()
            assert [record.getMessage()[:18] for record in caplog.records] == ["all runs left open"]


async def test_whoever_waits_for_a_run_is_told_that_the_file_was_deleted(tmp_path: Path) -> None:
    gate, errors = Gate(), list[StoreError]()
    busy = Chain("busy", [gate.step, step("second", gate.pass_through)])
    async with running(SqliteStore(tmp_path / "runs.db"), PARKED, busy) as runner:
        parked = await runner.start(PARKED, run_id="parked")
        await parked.settled()
        held = await runner.start(busy, run_id="busy")
        async with anyio.create_task_group() as tasks:
            for run in (parked, held):
                tasks.start_soon(told, run, errors)
            await gate.entered.wait()
            (tmp_path / "runs.db").unlink()
            gate.open.set()
        assert [type(error) for error in errors] == [StoreLost] * 2
        assert gate.calls == 1  # the next step would not have been saved
        with pytest.raises(StoreLost):
            await runner.start(PARKED, run_id="another")
        with pytest.raises(StoreLost):
            await runner.answer("parked/ask", 1)
