"""A process is killed while its agent remembers: nothing is remembered twice, and nothing is lost."""

from pathlib import Path

import pytest
from anyio import fail_after
from tests.agents.memory._mortal_clerk import TEXTS, life
from tests.checkpoint._processes import running

from stagepost.agents import Memories
from stagepost.checkpoint import SqliteStore

LIFE = "import sys, anyio; from tests.agents.memory._mortal_clerk import life; anyio.run(life, *sys.argv[1:])"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


TEA, SAILS, SINGS = (f'made {{"text":"{text}"}}' for text in TEXTS)
HELD = {
    "before the first call": ["ask 0"],
    "between a call and its commit": [TEA],
    "after its commit": ["ask 1"],
    "between several calls and their commits": [SAILS, SINGS],
    "between one of several calls and its commit": [SINGS],
    "after all": ["ask 2"],
}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
async def test_a_killed_process_remembers_once(tmp_path: Path, held: list[str]) -> None:
    with fail_after(120):
        async with running(LIFE, tmp_path, *held) as process:
            assert {(await process.line()).strip() for _ in held} == set(held)
            async with SqliteStore.reader(tmp_path / "runs.db") as reader:
                rows = await reader.query("SELECT text FROM app_stagepost_memories ORDER BY number")
            assert TEXTS[0] not in {text for (text,) in rows} or held[0] != TEA
            await process.kill()
        await life(str(tmp_path))
        async with SqliteStore(tmp_path / "runs.db") as store:
            entries = (await Memories(store).list("ann")).items
            assert sorted(entry.text for entry in entries) == sorted(TEXTS)
            assert len(await Memories(store).search("ann", "likes sails sings")) == 3
            assert {entry.run_id for entry in entries} == {"t"}
