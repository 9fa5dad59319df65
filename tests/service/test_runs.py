"""``runs ls``, ``show``, ``waits``: what is read."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import Command


def ids(result: Any) -> list[str]:
    return [row["run_id"] for row in json.loads(result.stdout)["runs"]]


def test_runs_are_listed_with_the_newest_first(command: Command, file: Path) -> None:
    result = command("runs", "ls", "-f", file)
    assert result.exit_code == 0
    titles, *rows = result.stdout.splitlines()
    assert titles.split() == ["RUN", "WORKFLOW", "STATUS", "STARTED", "AGE", "TOOK", "LABELS"]
    assert [row.split()[:3] for row in rows if not row.startswith(" ")] == [
        ["mail-1", "mail", "waiting"],
        ["failed-1", "quick", "failed"],
        ["quick-1", "quick", "completed"],
        ["digest-1", "digest", "waiting"],
    ]
    assert "the press is a \\x1b[31mred" in result.stdout


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--status", "failed"], ["failed-1"]),
        (["-s", "failed", "-s", "completed"], ["failed-1", "quick-1"]),
        (["--status", "open"], ["mail-1", "digest-1"]),
        (["--workflow", "quick"], ["failed-1", "quick-1"]),
        (["--label", "customer=7"], ["failed-1", "digest-1"]),
        (["-l", "customer=7", "-l", "tenant=north"], ["failed-1"]),
        (["--since", "1h"], ["mail-1", "failed-1", "quick-1", "digest-1"]),
        (["--until", "1h"], []),
        (["--until", "2000-01-01"], []),
        (["--text", "press"], ["failed-1"]),
        (["--ended-since", "1h", "--oldest-first"], ["quick-1", "failed-1"]),
        (["--ended-until", "1h"], []),
        (["--limit", "1"], ["mail-1"]),
        (["--oldest-first", "-n", "2"], ["digest-1", "quick-1"]),
    ],
)
def test_runs_are_filtered(command: Command, file: Path, options: list[str], wanted: list[str]) -> None:
    assert ids(command("runs", "ls", "-f", file, "--json", *options)) == wanted


def test_a_page_goes_on_where_the_one_before_has_ended(command: Command, file: Path) -> None:
    page = command("runs", "ls", "-f", file, "--json", "-n", "3")
    last = command("runs", "ls", "-f", file, "--json", "--after", json.loads(page.stdout)["next"])
    assert ids(last) == ["digest-1"]
    back = command("runs", "ls", "-f", file, "--json", "-n", "3", "--before", json.loads(last.stdout)["previous"])
    assert ids(back) == ids(page)
    assert "--after" in command("runs", "ls", "-f", file, "-n", "3").stderr


def test_runs_are_counted(command: Command, file: Path) -> None:
    count = ("runs", "ls", "-f", file, "--counts")
    assert json.loads(command(*count, "workflow", "--json").stdout)["counts"] == {"digest": 1, "mail": 1, "quick": 2}
    table = command(*count, "status", "-l", "customer=7").stdout
    assert [line.strip() for line in table.splitlines()] == ["1  waiting", "1  failed", "2  in all"]
    assert command(*count, "colour").exit_code == 2


def test_a_table_fits_80_columns(command: Command, file: Path) -> None:
    result = command("runs", "ls", "-f", file, COLUMNS="80")
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "LABELS" not in result.stdout


@pytest.mark.parametrize(
    "option",
    [
        ["-s", "lost"],
        ["-l", "customer"],
        ["--since", "soon"],
        ["--since", "99999999999d"],
        ["--since", f"{'9' * 400}d"],
        ["-n", "0"],
        ["--after", "x"],
        ["--after", "x", "--before", "y"],
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(command: Command, file: Path, option: list[str]) -> None:
    result = command("runs", "ls", "-f", file, *option)
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_run_is_shown_with_all_that_is_stored(command: Command, file: Path) -> None:
    shown = command("runs", "show", "failed-1", "-f", file).stdout
    for text in (
        "failed-1  failed",
        "quick (version 1)",
        "customer=7 tenant=north",
        "Error",
        "Traceback",
        "ValueError",
    ):
        assert text in shown
    waiting = command("runs", "show", "digest-1", "-f", file).stdout
    assert "digest-1/approval  answer" in waiting
    assert "  draft\n    a \\x1b[31mred\\x1b[0m text\n    with \\x9b2J two lines \\u202ereversed" in waiting


def test_a_run_is_shown_as_json(command: Command, file: Path) -> None:
    found = json.loads(command("runs", "show", "digest-1", "-f", file, "--json").stdout)
    assert (found["run"]["labels"], found["next"], found["owner"]) == ({"customer": "7"}, "approval", None)
    assert found["state"]["draft"].startswith("a \x1b[31mred")
    assert [wait["wait_id"] for wait in found["waits"]] == ["digest-1/approval"]


def test_waits_are_listed(command: Command, file: Path) -> None:
    lines = command("runs", "waits", "-f", file).stdout.splitlines()
    assert [line.split()[:2] for line in lines if not line.startswith(" ")][1:] == [
        ["digest-1/approval", "answer"],
        ["mail-1/letter", "signal"],
    ]
    found = json.loads(command("runs", "waits", "mail-1", "-f", file, "--json").stdout)
    assert [wait["kind"] for wait in found["waits"]] == ["signal"]
    assert command("runs", "waits", "-k", "timer", "-f", file).stdout == "nothing waits\n"
    assert command("runs", "waits", "-k", "day", "-f", file).exit_code == 2


def test_waits_come_in_pages(command: Command, file: Path) -> None:
    first = json.loads(command("runs", "waits", "-n", "1", "-f", file, "--json").stdout)
    assert ([wait["wait_id"] for wait in first["waits"]], first["next"]) == (["digest-1/approval"], "digest-1/approval")
    rest = json.loads(command("runs", "waits", "--after", first["next"], "-f", file, "--json").stdout)
    assert ([wait["wait_id"] for wait in rest["waits"]], rest["next"]) == (["mail-1/letter"], None)
    assert "--after digest-1/approval" in command("runs", "waits", "-n", "1", "-f", file).stderr


def test_the_file_may_come_from_the_environment(command: Command, file: Path) -> None:
    assert ids(command("runs", "ls", "--json", STAGEPOST_FILE=str(file)))


def test_runs_are_read_beside_their_owner(command: Command, owned: Path) -> None:
    found = json.loads(command("runs", "show", "digest-1", "-f", owned, "--json").stdout)
    assert "process" in found["owner"]
