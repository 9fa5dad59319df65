"""A damaged run is reported when runs are recovered, and the others go on."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.workflows._words import Gate, running

from stagepost.checkpoint import CorruptRun, SqliteStore
from stagepost.workflows import Chain, State

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


async def finish(state: State) -> dict[str, object]:
    return {"finished": True}


DAMAGE = {
    "its frame": "UPDATE frames SET state = x'7b' WHERE rk = (SELECT rk FROM runs WHERE run_id = 'bad')",
    "its own row": "UPDATE runs SET input = x'7b' WHERE run_id = 'bad'",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
async def test_recover_reports_a_damaged_run_and_resumes_the_others(tmp_path: Path, damage: str) -> None:
    file, gate = tmp_path / "runs.db", Gate()
    work = Chain("work", [gate.step, finish])
    async with running(SqliteStore(file), work, grace=0) as runner:
        for run_id in ("a", "bad", "c"):
            await runner.start(work, run_id=run_id)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(damage)
    store = SqliteStore(file)
    async with running(store, work) as runner:
        gate.open.set()
        report = await runner.recover()
        assert [run.id for run in report.resumed] == ["a", "c"]
        assert [(run_id, type(error)) for run_id, error in report.left_open.items()] == [("bad", CorruptRun)]
        for run in report.resumed:
            assert (await run.result())["finished"] is True
        with pytest.raises(CorruptRun, match="'bad' is damaged"):
            await runner.get("bad")
        assert [error.run_id for error in await store.verify()] == ["bad"]
