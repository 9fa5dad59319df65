"""A store that takes nothing more: whoever waits for a run is told, whatever the run waits for itself."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import pytest
from tests.workflows._words import Gate, running

from stagepost.checkpoint import RunStatus, SqliteStore, StoreError, StoreFailed, StoreTakenOver
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch
from stagepost.workflows import Chain, Run, State, StepContext, Wait, step

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


class Disk:
    """A disk that fails from the moment on when it is told to."""

    def __init__(self) -> None:
        self.fails = False

    def __call__(self, connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        if not self.fails:
            return run_batch(connection, batch)
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
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
        with pytest.raises(StoreFailed, match="disk I/O error"):  # who asks behind it need not wait either
            await (await runner.get("parked")).result()
        gate.open.set()
        for run in held:
            with pytest.raises(StoreFailed):
                await run.result()


async def test_whoever_waits_for_the_parent_is_told_that_the_store_died_under_the_child(tmp_path: Path) -> None:
    disk = Disk()

    def die(_: State) -> Mapping[str, object]:
        disk.fails = True
        return {}

    child = Chain("child", [Wait("ask"), step("die", die)])

    async def ask(_: State, context: StepContext) -> Mapping[str, object]:
        return dict(await context.child(child, "kid", {}))

    parent = Chain("parent", [ask], companions=[child])
    async with running(SqliteStore(tmp_path / "runs.db", run_batch=disk), parent) as runner:
        run = await runner.start(parent, run_id="root")
        assert await run.settled() is RunStatus.WAITING
        await runner.answer("root.kid/ask", 1)
        with pytest.raises(StoreFailed):
            await run.result()
    async with running(SqliteStore(tmp_path / "runs.db"), parent) as runner:
        await runner.recover()
        assert (await (await runner.get("root")).result())["ask"] == 1


async def test_whoever_waits_for_a_parked_run_is_told_that_its_store_was_taken_over(tmp_path: Path) -> None:
    async with running(SqliteStore(tmp_path / "runs.db"), PARKED) as runner:
        run = await runner.start(PARKED, run_id="parked")
        await run.settled()
        async with SqliteStore(tmp_path / "runs.db", take_over=True):
            with pytest.raises(StoreTakenOver):
                await runner.start(PARKED)
            with pytest.raises(StoreTakenOver):
                await run.result()
