"""The process of an assistant is killed at its stages and while it sends: nobody ever gets two answers."""

from collections import Counter
from pathlib import Path

import pytest
from anyio import fail_after
from tests.checkpoint._processes import running
from tests.service.assistant._desk import request
from tests.service.assistant._mortal import Mortal, drive

from stagepost.checkpoint import RunStatus, SqliteStore, WaitKind
from stagepost.service.assistant import Assistant
from stagepost.testing import kill_and_recover

LIFE = "import sys, anyio; from tests.service.assistant._mortal import first_life; anyio.run(first_life, *sys.argv[1:])"
ASKED = {"planner": 1, "data": 1, "composer": 1, "judge": 2, "refiner": 1}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def asked_once_and_sent_once(folder: Path, result: object) -> None:
    assert Counter((folder / "asked").read_text().split()) == ASKED
    assert sorted(file.name[-6] for file in (folder / "outbox").glob("*.json")) == ["1", "2", "3"]
    assert set((folder / "sent").read_text().split()) == {"1", "2", "3"}


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.long)])
async def test_killed_at_any_stage_it_asks_no_model_twice_and_sends_one_answer(tmp_path: Path, every: int) -> None:
    report = await kill_and_recover(Mortal, drive, folder=tmp_path, check=asked_once_and_sent_once, every=every)
    assert report.kills >= 3


@pytest.mark.parametrize("part", [1, 3])
@pytest.mark.parametrize("kind", ["takes our id", "does not"])
async def test_killed_while_a_part_is_sent_it_is_never_sent_twice(tmp_path: Path, part: int, kind: str) -> None:
    takes_our_id = kind == "takes our id"
    with fail_after(120):
        async with running(LIFE, tmp_path, part, takes_our_id) as process:
            await process.line()
            await process.kill()
        async with (
            SqliteStore(tmp_path / "runs.db") as store,
            Mortal(store, takes_our_id=takes_our_id) as runner,
            Assistant(runner.assistant, runner) as assistant,
        ):
            (run,) = (await runner.recover()).resumed
            if not takes_our_id:
                assert await run.settled() is RunStatus.WAITING
                (doubt,) = await runner.waits(kind=WaitKind.EFFECT)
                assert doubt.shown["to"] == "+47"
                await runner.settle(run.id, doubt.name, value="it was there")
            result = await assistant.ask(request())
    assert result.metadata.delivered
    again = [str(part)] if takes_our_id else []
    assert (tmp_path / "sent").read_text().split() == sorted(["1", "2", "3", *again])
    assert len(list((tmp_path / "outbox").glob("*.json"))) == 3
