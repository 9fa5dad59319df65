"""The process is really killed before, in and after the call for a summary: it is stored and paid for once."""

from collections import Counter
from pathlib import Path

import pytest
from anyio import fail_after
from tests.agents._mortal import Notes
from tests.agents.context._dying import digger
from tests.checkpoint._processes import running

from stagepost.agents import Tasks
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

LIFE = "import sys, anyio; from tests.agents.context._dying import first_life; anyio.run(first_life, *sys.argv[1:])"
DONE = {
    "ask 0 of 2": 1,
    "dig 0": 1,
    "ask 1 of 4": 1,
    "dig 1": 1,
    "ask 2 of 6": 1,
    "dig 2": 1,
    "summary": 1,
    "ask 3 of 5": 1,
    "dig 3": 1,
    "ask 4 of 7": 1,
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(
    ("held", "again"),
    [
        ("cut", {}),
        ("summary", {"summary": 2}),
        ("ask 3 of 5", {"ask 3 of 5": 2}),
        ("ask 4 of 7", {"ask 4 of 7": 2}),
    ],
    ids=["before", "in", "after", "later"],
)
async def test_p7_a_summary_is_stored_and_paid_for_once(tmp_path: Path, held: str, again: dict[str, int]) -> None:
    with fail_after(120):
        async with running(LIFE, tmp_path, held) as process:
            assert (await process.line()).strip() == held
            await process.kill()
        agent = digger(tmp_path)
        async with SqliteStore(tmp_path / "runs.db") as store, Runner(store, workflows=[agent]) as runner:
            (run,) = (await runner.recover()).resumed
            await run.result()
            task = await Tasks(runner).get("deep")
    assert Counter(Notes(tmp_path).read()) == {**DONE, **again}
    assert task.output == "done"
    assert (task.usage.input_tokens, task.usage.cost) == (600, 3.0)  # five answers and one summary
    assert [message.role for message in task.messages] == ["user", *["assistant", "tool"] * 4, "assistant"]
