import json
from pathlib import Path

import pytest
from tests.service.conftest import Command

MODULE = """
from stagepost.agents import Agent, FunctionModel
from stagepost.agents.quality import Case, Evaluation

def answer(request):
    with open("asked", "a") as file:
        file.write("asked\\n")
    if "Rome" in request.messages[-1].text:
        raise OSError("the station is closed")
    return "rain"

def is_right(answer):
    return answer.output == answer.case.expected

agent = Agent("weather", "Weather.", model=FunctionModel(answer))
good = Evaluation(agent, [Case(id="oslo", request="Oslo?", expected="rain")], {"right": is_right})

def bad():
    cases = [Case(id="oslo", request="Oslo?", expected="sun"), Case(id="rome", request="Rome?")]
    return Evaluation(agent, cases, {"right": is_right})

def broken():
    raise RuntimeError("no cases")

other = 7
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"evaluations_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_an_evaluation_is_run_and_shown(command: Command, here: str, tmp_path: Path) -> None:
    done = command("evaluate", f"{here}:good", "--out", "cells.jsonl")
    titles, row, summary = done.stdout.splitlines()
    assert titles.split()[:3] == ["agent", "good", "right"]
    assert row.split()[:3] == ["weather", "1/1", "1/1"]
    assert summary == "all 1 cells are good"
    assert done.exit_code == 0
    assert json.loads((tmp_path / "cells.jsonl").read_text())["output"] == "rain"


def test_bad_cells_are_named_and_the_exit_code_says_so(command: Command, here: str) -> None:
    done = command("evaluate", f"{here}:bad")
    assert done.exit_code == 1
    *_, oslo, rome = done.stdout.splitlines()
    assert oslo == "weather oslo  right: no"
    assert rome.startswith("weather rome  ")
    assert "the station is closed" in rome


def test_as_json_there_is_a_line_for_each_cell(command: Command, here: str) -> None:
    cells = [json.loads(line) for line in command("evaluate", f"{here}:bad", "--json").stdout.splitlines()]
    assert [(cell["case"], cell["is_good"]) for cell in cells] == [("oslo", False), ("rome", False)]


def test_what_is_kept_in_a_file_is_not_asked_again(command: Command, here: str, tmp_path: Path) -> None:
    for _ in range(2):
        assert command("evaluate", f"{here}:good", "--file", "evaluation.db").exit_code == 0
    assert (tmp_path / "asked").read_text() == "asked\n"


@pytest.mark.parametrize(("name", "why"), [("other", "it is to be an Evaluation"), ("broken", "no cases")])
def test_anything_else_is_no_evaluation(command: Command, here: str, name: str, why: str) -> None:
    done = command("evaluate", f"{here}:{name}")
    assert done.exit_code == 2
    assert why in done.stderr


def test_a_file_that_cannot_be_written_is_named(command: Command, here: str) -> None:
    done = command("evaluate", f"{here}:good", "--out", "no/such/folder")
    assert done.exit_code == 2
    assert "1/1" in done.stdout  # nothing is lost
    assert "no/such/folder cannot be written" in done.stderr
