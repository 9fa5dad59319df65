"""Exit codes, and how errors are told."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest
import typer
from tests.service.conftest import Command

from stagepost.checkpoint import RunNotFound, StoreFull
from stagepost.service._cli._acting import act
from stagepost.service._cli._errors import code_of
from stagepost.service._cli._exits import MEANINGS, Exit
from stagepost.service._cli._screen import Screen


def code_after(error: BaseException, *, json: bool = False, debug: bool = False) -> int:
    async def job(_: Screen) -> NoReturn:
        raise error

    with pytest.raises(typer.Exit) as found:
        act(job, json=json, debug=debug)
    return found.value.exit_code


def test_each_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Exit)


@pytest.mark.parametrize("arguments", [["runs", "ls"], ["runs", "watch", "x"], ["runs", "delete", "x"], ["verify"]])
def test_a_file_that_is_no_store_is_told_in_one_sentence(
    command: Command, tmp_path: Path, arguments: list[str]
) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE things (x)")
    text = tmp_path / "text.db"
    text.write_text("a text " * 1000)
    for file in (tmp_path / "none.db", tmp_path, other, text):
        result = command(*arguments, "-f", file)
        assert (result.exit_code, result.stdout) == (5, "")
        assert result.stderr.startswith("error: ")
        assert len(result.stderr.splitlines()) == 1
        assert not (tmp_path / "none.db").exists()


def test_a_file_of_a_newer_version_is_told(command: Command, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 99")
    result = command("runs", "ls", "-f", file, "--json")
    assert (result.exit_code, "upgrade stagepost" in json.loads(result.stderr)["message"]) == (5, True)


def test_an_unexpected_error_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_after(ZeroDivisionError("by \x1b zero")) == 70
    said = capsys.readouterr().err
    assert said == "error: the command has failed with ZeroDivisionError: by \\x1b zero (--debug shows where)\n"
    assert code_after(ExceptionGroup("two", [RunNotFound("x"), ValueError()])) == 3
    with pytest.raises(ZeroDivisionError):
        act_debug()


def act_debug() -> None:
    async def job(_: Screen) -> NoReturn:
        raise ZeroDivisionError

    act(job, json=False, debug=True)


def test_an_error_is_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_after(RunNotFound("x"), json=True) == 3
    assert json.loads(capsys.readouterr().err)["kind"] == "RunNotFound"


def test_ctrl_c_is_130() -> None:
    assert code_after(KeyboardInterrupt()) == 130
    assert code_after(BaseExceptionGroup("", [KeyboardInterrupt()])) == 130


def test_what_is_no_refusal_is_a_finding() -> None:
    assert code_of(StoreFull(Path("runs.db"))) is Exit.FOUND
