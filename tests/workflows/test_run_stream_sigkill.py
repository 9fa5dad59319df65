"""Readers come back with their cursor after their process was killed: no commit is lost, and none is told twice."""

import json
import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after
from tests.workflows import _streamed
from tests.workflows._kills import forked
from tests.workflows._streamed import RUN_ID, workflow
from tests.workflows._victim import POINTS
from tests.workflows._words import running

from stagepost.checkpoint import SqliteStore
from stagepost.workflows import RunPart, StateShown, StepSaved

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

PATIENCE = 300


async def until_the_end(folder: Path, keep: str, point: str, seed: int) -> tuple[list[dict[str, Any]], int]:
    """What a reader gets that comes back after each kill, and how many there were."""
    chance, kills = random.Random(seed), 0  # noqa: S311  # no secret
    with fail_after(PATIENCE):
        while True:
            left = chance.randint(1, 9) if kills < 30 else 0
            done = await forked(_streamed.__file__, folder, keep, point, left)
            assert (done.returncode, done.stderr) in ((0, ""), (-signal.SIGKILL, ""))
            if done.returncode == 0:
                break
            kills += 1
    return [json.loads(line) for line in (folder / "parts").read_text().splitlines()], kills


async def read_now(folder: Path) -> list[RunPart]:
    async with running(SqliteStore(folder / "runs.db"), workflow()) as runner, runner.stream(RUN_ID) as stream:
        return [part async for part in stream]


def numbers(parts: list[dict[str, Any]], *types: str) -> list[int]:
    return [part["seq"] for part in parts if part["type"] in types]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 4))])
@pytest.mark.parametrize("point", POINTS, ids=lambda point: str(point).replace(" ", "-"))
async def test_of_a_run_that_keeps_its_history_each_commit_is_told_once_whatever_is_killed(
    tmp_path: Path, point: str, seed: int
) -> None:
    parts, kills = await until_the_end(tmp_path, "all", point, seed)
    whole = [part.to_dict() for part in await read_now(tmp_path)]
    told = [part for part in parts if part["type"] in ("state", "step")]
    assert [part["seq"] for part in told] == list(range(1, 1 + len(told)))
    assert json.loads(json.dumps([_said(part) for part in told])) == json.loads(
        json.dumps([_said(part) for part in whole if part["type"] in ("state", "step")])
    )
    assert Counter(part["type"] for part in parts)["end"] == 1
    assert parts[-1]["status"] == "completed"
    assert kills >= 1


def _said(part: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name != "timestamp"}


@pytest.mark.parametrize(
    "point",
    [
        pytest.param(point, marks=pytest.mark.long if number % 2 else [], id=str(point).replace(" ", "-"))
        for number, point in enumerate(POINTS)  # of a run that keeps its history each point is short
    ],
)
async def test_of_any_run_each_commit_is_told_or_counted_whatever_is_killed(tmp_path: Path, point: str) -> None:
    parts, kills = await until_the_end(tmp_path, "result", point, 7)
    whole = await read_now(tmp_path)
    known = 0
    for part in parts:
        if part["type"] == "state":
            known += part["skipped"] + 1
        known += part["type"] == "step"
        assert part["seq"] == known
    assert isinstance(whole[0], StateShown)
    assert known == whole[0].seq
    assert not any(isinstance(part, StepSaved) for part in whole)
    assert numbers(parts, "end") == [known]
    assert kills >= 1
