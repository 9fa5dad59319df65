"""``chat``: answers as they come, what calls ask, and conversations that go on."""

import json
from pathlib import Path

import pytest
from tests.service.conftest import Command, owner

from stagepost.workflows import Runner

AGENTS = "tests.service._flows"


def test_an_agent_answers_one_message_after_the_other(command: Command) -> None:
    result = command("chat", f"{AGENTS}:clerk", typed="hello\n\nweather?\n/quit\nnever said\n")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "message 1: a \\x1b[31mred\\x1b[0m text"
    assert lines[2:4] == ['→ look  city="Oslo"', "✓ look  rain in Oslo"]
    assert lines[4].startswith("message 2:")
    assert result.stderr == ""


def test_what_is_said_is_json_for_programs(command: Command) -> None:
    result = command("chat", f"{AGENTS}:clerk", "--json", typed="hello\n")
    parts = [json.loads(line)["part"] for line in result.stdout.splitlines()]
    assert (parts[0]["role"], parts[-1]["type"]) == ("user", "completed")


def test_approvals_are_asked_and_the_reason_of_a_refusal_is_told(command: Command) -> None:
    said = command("chat", f"{AGENTS}:mailer", typed="mail\ny\nBob is away\n").stdout
    assert '? send_mail needs approval (needs_approval): {"to": "ann"}' in said
    assert "✓ send_mail  sent to ann" in said
    assert "✗ send_mail  denied by a person, send_mail was not called: Bob is away" in said
    assert said.splitlines()[-1] == "Done."


def test_a_question_is_asked_until_its_answer_fits(command: Command) -> None:
    said = command("chat", f"{AGENTS}:buyer", typed="tea\na lot\n7\n").stdout
    assert '? price asks: {"what": "tea"}' in said
    assert "valid integer" in said
    assert said.splitlines()[-1] == "It costs 7."


def test_a_question_may_be_refused(command: Command) -> None:
    said = command("chat", f"{AGENTS}:buyer", typed="tea\n\n").stdout
    assert "✗ price" in said


def test_a_conversation_goes_on_where_it_was_left(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "talks.db"
    chat = ("chat", f"{AGENTS}:mailer", "-f", file, "-c", "talk")
    left = command(*chat, typed="mail\ny\n")
    assert (left.exit_code, f"--file {file} --conversation talk" in left.stderr) == (6, True)
    waits = json.loads(command("runs", "waits", "-f", file, "--json").stdout)["waits"]
    assert [wait["shown"]["arguments"] for wait in waits] == [{"to": "bob"}]
    assert command("runs", "answer", waits[0]["wait_id"], "--deny", "no", "-f", file).exit_code == 0
    more = command(*chat, typed="again\ny\ny\n")
    assert more.exit_code == 0
    assert more.stdout.count("sent to ann") == 2
    assert more.stdout.splitlines()[0] == "> mail"


def test_an_agent_of_an_app_is_named(command: Command, tmp_path: Path) -> None:
    app = ("--app", f"{AGENTS}:clerk")
    file = tmp_path / "talks.db"
    assert command("chat", f"{AGENTS}:clerk", "-f", file, typed="hello\n").exit_code == 0
    assert command("chat", "clerk", *app, "-f", file, typed="hello\n").stdout.startswith("message 1:")


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("clerk", "a name alone needs --app"),
        (f"{AGENTS}:count", "is no agent"),
        (f"{AGENTS}:clark", "did you mean 'clerk'?"),
    ],
)
def test_what_is_no_agent_is_refused(command: Command, agent: str, said: str) -> None:
    result = command("chat", agent, typed="hello\n")
    assert (result.exit_code, said in result.stderr) == (2, True)


def test_a_file_with_an_owner_is_left_alone(command: Command, file: Path) -> None:
    with owner(file, Runner):
        result = command("chat", f"{AGENTS}:clerk", "-f", file, typed="hello\n")
    assert (result.exit_code, "is owned by process" in result.stderr) == (4, True)
