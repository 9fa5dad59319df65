"""Processes that judge, refine and evaluate are killed after a commit: no model is asked twice for the same."""

from collections import Counter
from pathlib import Path

import pytest
from tests.agents.quality._mortal import Evaluating, check_runner, drive_check, drive_evaluation

from stagepost.testing import kill_and_recover


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def asked(folder: Path) -> dict[str, int]:
    return dict(Counter((folder / "asked").read_text().split()))


def check_asked(folder: Path, draft: object) -> None:
    assert draft == "32 h this week"
    assert asked(folder) == {"judge": 2, "refine": 1}


def evaluation_asked(folder: Path, cells: object) -> None:
    assert isinstance(cells, list)
    assert len(cells) == 6
    assert asked(folder) == {"a": 3, "b": 3, "judge": 6}


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.long)])
async def test_a_check_that_is_killed_asks_no_model_twice(tmp_path: Path, every: int) -> None:
    report = await kill_and_recover(check_runner, drive_check, folder=tmp_path, check=check_asked, every=every)
    assert report.kills >= 2


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.long)])
async def test_an_evaluation_that_is_killed_asks_only_what_is_missing(tmp_path: Path, every: int) -> None:
    report = await kill_and_recover(Evaluating, drive_evaluation, folder=tmp_path, check=evaluation_asked, every=every)
    assert report.kills >= 2
