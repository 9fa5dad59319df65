"""Processes that are killed after each commit, and what goes on after them."""

from pathlib import Path

import pytest
from tests.testing._order import drive, drive_badly, drive_differently, make_runner

from stagepost.testing import KillReport, KillSurvivalError, kill_and_recover
from stagepost.workflows import Runner


async def test_a_run_is_killed_after_every_commit_and_pays_once(tmp_path: Path) -> None:
    kills: list[Path] = []

    def paid_once(folder: Path, result: dict[str, object]) -> None:
        kills.append(folder)
        assert (folder / "till.txt").read_text() == "tea\n"

    report = await kill_and_recover(make_runner, drive, folder=tmp_path, check=paid_once, every=2)
    assert report == KillReport(len(kills) - 1, {"item": "tea", "packed": ["tea"], "approve": "yes", "paid": "tea"})
    assert report.kills >= 2  # it parks, is answered, and notes an effect


async def test_a_result_that_differs_names_the_kill(tmp_path: Path) -> None:
    with pytest.raises(KillSurvivalError, match=r"killed after commit 1: it ended with \d+ and not with \d+") as error:
        await kill_and_recover(make_runner, drive_differently, folder=tmp_path)
    assert error.value.commit == 1


async def test_a_check_that_fails_names_the_kill(tmp_path: Path) -> None:
    def wrong(folder: Path, result: object) -> None:
        raise AssertionError("nothing was paid")

    with pytest.raises(AssertionError, match="nothing was paid") as error:
        await kill_and_recover(make_runner, drive, folder=tmp_path, check=wrong, every=1000)
    assert "killed after commit 1000" in error.value.__notes__[0]


async def test_an_error_of_the_test_is_raised_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="broken by itself"):
        await kill_and_recover(make_runner, drive_badly, folder=tmp_path)


async def test_what_no_other_process_can_import_is_refused(tmp_path: Path) -> None:
    async def local(runner: Runner) -> None: ...

    with pytest.raises(ValueError, match=r"drive=.*is no function at the top of a module"):
        await kill_and_recover(make_runner, local, folder=tmp_path)
    with pytest.raises(ValueError, match="every=0: give 1 or more"):
        await kill_and_recover(make_runner, drive, folder=tmp_path, every=0)
