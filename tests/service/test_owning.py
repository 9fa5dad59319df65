"""``runs resume``, ``delete``, and what a file with an owner refuses."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.service import _flows as flows
from tests.service.conftest import APP, Command

from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner


def test_a_failed_run_goes_on_until_it_has_ended(command: Command, file: Path) -> None:
    resume = ("runs", "resume", "failed-1", "-f", file, "--app", APP)
    failed = command(*resume)
    assert (failed.exit_code, "failed: chain 'quick' failed" in failed.stdout) == (1, True)
    repaired = command("runs", "resume", "failed-1", "-f", file, "--app", APP, "--json")
    assert repaired.exit_code == 1


@pytest.mark.parametrize("app", ["workflows", "make", "list_of", "digest"])
def test_a_run_that_was_answered_goes_on(command: Command, file: Path, app: str) -> None:
    command("runs", "answer", "digest-1", "true", "-f", file)
    result = command("runs", "resume", "digest-1", "-f", file, "--app", f"tests.service._flows:{app}")
    assert (result.exit_code, result.stdout.split()[-1]) == (0, "completed")


def test_a_run_that_waits_says_so(command: Command, file: Path) -> None:
    result = command("runs", "watch", "digest-1", "--settled", "-f", file)
    assert (result.exit_code, "stagepost runs answer digest-1/approval VALUE" in result.stdout) == (6, True)
    assert command("runs", "resume", "digest-1", "-f", file, "--app", APP).exit_code == 6


def test_a_run_that_has_ended_is_deleted(command: Command, file: Path) -> None:
    assert command("runs", "delete", "quick-1", "-f", file).stdout == "deleted quick-1\n"
    assert command("runs", "show", "quick-1", "-f", file).exit_code == 3
    assert command("runs", "delete", "digest-1", "-f", file, "--json").exit_code == 4


def forked(command: Command, file: Path, run_id: str, *options: object) -> Any:
    return command("runs", "fork", run_id, "-f", file, "--app", APP, "--id", "fork-1", *options)


def test_a_fork_goes_on_with_what_was_changed(command: Command, file: Path) -> None:
    result = forked(command, file, "failed-1", "--changes", '{"boom": null}', "-l", "try=2", "--json")
    assert result.exit_code == 0
    shown = json.loads(command("runs", "show", "fork-1", "-f", file, "--json").stdout)
    assert (shown["run"]["forked_from"], shown["run"]["labels"]["try"]) == ("failed-1", "2")
    assert "fork of" in command("runs", "show", "fork-1", "-f", file).stdout
    assert command("runs", "show", "failed-1", "-f", file).exit_code == 0


@pytest.mark.parametrize("at", ["1", "draft"])
def test_a_fork_begins_at_a_number_or_a_step(command: Command, file: Path, at: str) -> None:
    result = forked(command, file, "digest-1", "--at", at)
    assert (result.exit_code, "the new run is fork-1" in result.stderr) == (6, True)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--at", "99"], 3),
        (["--at", "publish"], 4),
        (["--changes", "[1]"], 2),
        (["--changes", "{"], 2),
        (["--effects", "never"], 2),
        (["--failed-items", "--effects", "keep"], 2),
        (["--failed-items"], 4),
        (["-l", "nothing"], 2),
        (["--id", "a/b"], 2),
    ],
)
def test_a_fork_that_makes_no_sense_is_refused(command: Command, file: Path, options: list[str], code: int) -> None:
    assert forked(command, file, "digest-1", *options).exit_code == code
    assert command("runs", "show", "fork-1", "-f", file).exit_code == 3


@pytest.fixture
def forkable(file: Path) -> Path:
    async def make() -> None:
        async with SqliteStore(file) as store, Runner(store, workflows=flows.workflows) as runner:
            await (await runner.start(flows.shop, {}, run_id="shop-1", keep="all")).settled()
            paths = [str(file), str(file.with_name("late"))]
            await (await runner.start(flows.sizes, {"paths": paths}, run_id="sizes-1")).settled()

    anyio.run(make)
    return file


def test_effects_happen_again_only_if_that_is_said(command: Command, forkable: Path) -> None:
    result = forked(command, forkable, "shop-1", "--at", "1")
    assert (result.exit_code, "give --effects again if" in result.stderr) == (4, True)
    assert forked(command, forkable, "shop-1", "--at", "1", "--effects", "keep").exit_code == 0


def test_failed_items_are_done_again(command: Command, forkable: Path) -> None:
    failed = forked(command, forkable, "sizes-1", "--failed-items")
    assert failed.exit_code == 1
    assert "lengths  1 of 2 done" in command("runs", "show", "fork-1", "-f", forkable).stdout
    forkable.with_name("late").write_text("now")
    result = command("runs", "fork", "sizes-1", "--failed-items", "-f", forkable, "--app", APP, "--id", "fork-2")
    assert result.exit_code == 0


@pytest.mark.parametrize(
    "arguments", [["delete", "quick-1"], ["resume", "failed-1", "--app", APP], ["fork", "quick-1", "--app", APP]]
)
def test_what_only_the_owner_does_is_refused_beside_it(command: Command, owned: Path, arguments: list[str]) -> None:
    result = command("runs", *arguments, "-f", owned)
    assert (result.exit_code, result.stdout) == (4, "")
    assert "is owned by process" in result.stderr
    assert "stop that process" in result.stderr


@pytest.mark.parametrize(
    ("app", "said"),
    [
        (None, "give --app MODULE:NAME"),
        ("flows", "is not of the form MODULE:NAME"),
        ("tests.service._nothing:workflows", "there is no module 'tests.service._nothing'"),
        ("tests.service._flows:workflow", "did you mean 'workflows'?"),
        ("tests.service._flows:empty", "it is to give a workflow"),
        ("tests.service._flows:APP", "has no 'APP'"),
        ("tests.service._flows:broken", "raised RuntimeError: no database"),
        ("tests.service._flows:elsewhere", "works on MemoryStore"),
    ],
)
def test_an_app_that_gives_no_workflows_is_refused(command: Command, file: Path, app: str | None, said: str) -> None:
    given = [] if app is None else ["--app", app]
    result = command("runs", "resume", "failed-1", "-f", file, *given)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize(("app", "code"), [("workflows", 0), ("make", 0), ("changed", 1)])
def test_open_runs_are_checked_against_the_code(command: Command, owned: Path, app: str, code: int) -> None:
    result = command("check", "-f", owned, "--app", f"tests.service._flows:{app}")
    assert result.exit_code == code, result.stdout
    assert result.stdout.splitlines()[-1].startswith("2 open runs: ")
    assert command("check", "-f", owned, "--app", f"tests.service._flows:{app}", "--json").exit_code == code


def test_a_whole_file_is_verified(command: Command, owned: Path) -> None:
    assert command("verify", "-f", owned).stdout == "no damage\n"
    assert command("verify", "-f", owned, "--json").exit_code == 0


def test_a_store_is_copied_beside_its_owner(command: Command, owned: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert command("backup", copy, "-f", owned).stdout.startswith(f"copied to {copy}, ")
    again = command("backup", copy, "-f", owned)
    assert (again.exit_code, "--overwrite" in again.stderr) == (4, True)
    assert command("backup", copy, "-f", owned, "--overwrite", "--json").exit_code == 0
    assert command("backup", tmp_path / "none" / "copy.db", "-f", owned).exit_code == 5
    assert command("runs", "delete", "quick-1", "-f", copy).exit_code == 0


@pytest.mark.parametrize(("at", "code"), [("²", 4), ("9" * 5000, 4), ("9" * 18, 3), ("0", 3)])
def test_a_fork_at_what_no_history_has_is_refused(command: Command, file: Path, at: str, code: int) -> None:
    assert command("runs", "fork", "digest-1", "--at", at, "-f", file, "--app", APP).exit_code == code


def test_after_a_number_that_no_history_has_there_is_nothing(command: Command, file: Path) -> None:
    result = command("runs", "history", "digest-1", "--after", "9" * 30, "-f", file, "--json")
    assert (result.exit_code, json.loads(result.stdout)["items"]) == (0, [])
