"""``runs answer``, ``signal``, ``settle``, ``cancel``: what is written beside an owner."""

import json
from pathlib import Path

import pytest
from tests.service.conftest import APP, Command

from stagepost.service._verbs._asking import as_asked


def status(command: Command, file: Path, run_id: str) -> str:
    found: str = json.loads(command("runs", "show", run_id, "-f", file, "--json").stdout)["run"]["status"]
    return found


def test_an_answer_reaches_the_owner_of_the_file(command: Command, owned: Path) -> None:
    result = command("runs", "answer", "digest-1/approval", "true", "--by", "Ada", "-f", owned)
    assert (result.exit_code, result.stdout.partition(":")[0]) == (0, "answered digest-1/approval")
    assert "hears of it now" in result.stdout
    watched = command("runs", "watch", "digest-1", "-f", owned)
    assert (watched.exit_code, watched.stdout.split()[-1]) == (0, "completed")


def test_an_answer_without_an_owner_waits_for_the_next_one(command: Command, file: Path) -> None:
    result = command("runs", "answer", "digest-1", "true", "-f", file, "--app", APP, "--json")
    assert json.loads(result.stdout) == {
        "action": "answered",
        "id": "digest-1/approval",
        "owner": None,
        "is_new": True,
        "next_due": None,
        "checked": True,
    }
    assert status(command, file, "digest-1") == "running"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["digest-1", "maybe"], 2),
        (["digest-1"], 2),
        (["digest-1", "true", "--allow"], 2),
        (["mail-1", "true"], 3),
        (["nobody", "true"], 3),
        (["digest-1/else", "true"], 3),
        (["quick-1/draft", "true"], 4),
        (["digest-1", '"maybe"', "--app", APP], 4),
        (["digest-1", "true", "--app", "tests.service._flows:changed"], 3),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(command: Command, file: Path, arguments: list[str], code: int) -> None:
    result = command("runs", "answer", *arguments, "-f", file)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr
    assert status(command, file, "digest-1") == "waiting"


def test_what_may_not_be_kept_is_refused_with_the_runner_that_knows_it(command: Command, file: Path) -> None:
    app = "tests.service._flows:make"
    result = command("runs", "signal", "mail-1", "letter", '"s3cret-token"', "-f", file, "--app", app)
    assert result.exit_code == 4


def test_a_value_may_be_a_text_or_come_from_standard_input(command: Command, file: Path) -> None:
    result = command("runs", "signal", "mail-1", "letter", "-", "--text", "-f", file, typed="Dear Ada,\nhello")
    assert result.exit_code == 0
    shown = command("runs", "show", "mail-1", "-f", file, "--json")
    assert json.loads(shown.stdout)["signals"][0]["value"] == "Dear Ada,\nhello"


def test_a_signal_is_sent_once(command: Command, file: Path) -> None:
    send = ("runs", "signal", "mail-1", "letter", '"hello"', "--dedup", "1", "-f", file, "--json")
    assert [json.loads(command(*send).stdout)["is_new"] for _ in range(2)] == [True, False]
    assert "sent before" in command(*send[:-1]).stdout


def test_an_unknown_signal_is_refused_where_the_workflow_is_known(command: Command, file: Path) -> None:
    assert command("runs", "signal", "mail-1", "parcel", "1", "-f", file, "--app", APP).exit_code == 3


def test_the_end_of_a_run_is_requested(command: Command, owned: Path) -> None:
    assert "cancel requested mail-1" in command("runs", "cancel", "mail-1", "-f", owned).stdout
    assert command("runs", "watch", "mail-1", "-f", owned).exit_code == 1
    again = command("runs", "cancel", "mail-1", "-f", owned)
    assert (again.exit_code, again.stderr.startswith("error: run 'mail-1' is cancelled")) == (4, True)


def test_word_of_an_effect_needs_one_way_or_the_other(command: Command, file: Path) -> None:
    assert command("runs", "settle", "digest-1", "charge", "-f", file).exit_code == 2
    assert command("runs", "settle", "digest-1", "charge", "--retry", "--value", "1", "-f", file).exit_code == 2
    assert command("runs", "settle", "digest-1", "charge", "--retry", "-f", file).exit_code == 3


def test_an_answer_to_an_external_tool_is_sent_with_its_kind() -> None:
    assert as_asked({"draft": "a text"}, True) is True
    asked = {"agent": "a", "tool": "t", "schema": {}}
    assert as_asked(asked, 3) == {"kind": "answer", "value": 3}
    assert as_asked(asked, {"kind": "refuse"}) == {"kind": "refuse"}
