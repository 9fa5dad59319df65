"""A workflow's step is a compiled agent, and its process is really killed: no call with a result is made again."""

from collections import Counter
from pathlib import Path

import pytest
from anyio import fail_after
from tests.agents._mortal import Notes
from tests.agents.compiled._posting import posting
from tests.checkpoint._processes import running

from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

WORK = "import sys, anyio; from tests.agents.compiled._posting import work; anyio.run(work, *sys.argv[1:])"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(
    ("held", "again"),
    [(["post ann", "post carl"], {"post ann": 2, "post carl": 2}), (["post the boss"], {"post the boss": 2})],
    ids=["in branches", "in the last call"],
)
async def test_a_compiled_agent_goes_on_where_its_process_was_killed(
    tmp_path: Path, held: list[str], again: dict[str, int]
) -> None:
    with fail_after(120):
        async with running(WORK, tmp_path, *held) as process:
            assert {(await process.line()).strip() for _ in held} == set(held)
            await process.kill()
        workflow, _ = posting(Notes(tmp_path))
        async with SqliteStore(tmp_path / "runs.db") as store, Runner(store, workflows=[workflow]) as runner:
            await runner.recover()
            state = await (await runner.get("run")).result()
    assert state["report"] == {"count": 2, "last": "posted to the boss"}
    assert Counter(Notes(tmp_path).read()) == {"post ann": 1, "post carl": 1, "post the boss": 1} | again
