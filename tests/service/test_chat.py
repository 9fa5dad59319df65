"""``chat``: answers as they come, what calls ask, and conversations that go on."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests._needs import need
from tests.service.conftest import Command, owner

from stagepost.workflows import Runner

AGENTS = "tests.service._flows"


@pytest.fixture(params=["own", "service"])
def chat(request: pytest.FixtureRequest, tmp_path: Path, command: Command) -> Iterator[Command]:
    """The command on agents of its own, or on those of a service; it is given their names."""
    if request.param == "own":
        yield lambda *given, **others: command("chat", f"{AGENTS}:{given[0]}", *given[1:], **others)
        return
    need("starlette", "sse_starlette", "limits", "httpx2", "uvicorn")
    from tests.service._service import service

    with service(tmp_path / "talks.db") as url:
        yield lambda *given, **others: command("chat", *given, "--url", url, **others)


@pytest.fixture(params=["own", "service"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """How an agent is named whose conversations are stored, and where."""
    file = tmp_path / "talks.db"
    if request.param == "own":
        yield f"{AGENTS}:", ("--file", str(file))
        return
    need("starlette", "sse_starlette", "limits", "httpx2", "uvicorn")
    from tests.service._service import service

    with service(file) as url:
        yield "", ("--url", url)


def test_an_agent_answers_one_message_after_the_other(chat: Command) -> None:
    result = chat("clerk", typed="hello\n\nweather?\n/quit\nnever said\n")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "message 1: a \\x1b[31mred\\x1b[0m text"
    assert lines[2:4] == ['→ look  city="Oslo"', "✓ look  rain in Oslo"]
    assert lines[4].startswith("message 2:")
    assert result.stderr == "" or "to go on: stagepost chat clerk --url" in result.stderr


def test_what_is_said_is_json_for_programs(chat: Command) -> None:
    result = chat("clerk", "--json", typed="hello\n")
    parts = [json.loads(line)["part"] for line in result.stdout.splitlines()]
    assert (parts[0]["role"], parts[-1]["type"]) == ("user", "completed")


def test_approvals_are_asked_and_the_reason_of_a_refusal_is_told(chat: Command) -> None:
    said = chat("mailer", typed="mail\ny\nBob is away\n").stdout
    assert '? send_mail needs approval (needs_approval): {"to": "ann"}' in said
    assert "✓ send_mail  sent to ann" in said
    assert "✗ send_mail  denied by a person, send_mail was not called: Bob is away" in said
    assert said.splitlines()[-1] == "Done."


def test_a_question_is_asked_until_its_answer_fits(chat: Command) -> None:
    said = chat("buyer", typed="tea\na lot\n7\n").stdout
    assert '? price asks: {"what": "tea"}' in said
    assert "valid integer" in said
    assert said.splitlines()[-1] == "It costs 7."


def test_a_question_may_be_refused(chat: Command) -> None:
    said = chat("buyer", typed="tea\n\n").stdout
    assert "✗ price" in said


def test_a_conversation_goes_on_where_it_was_left(command: Command, where: tuple[str, tuple[str, str]]) -> None:
    module, place = where
    chat = ("chat", f"{module}mailer", *place, "-c", "talk")
    left = command(*chat, typed="mail\ny\n")
    assert (left.exit_code, f"{' '.join(place)} --conversation talk" in left.stderr) == (6, True)
    waits = json.loads(command("runs", "waits", *place, "--json").stdout)["waits"]
    assert [wait["shown"]["arguments"] for wait in waits] == [{"to": "bob"}]
    again = command(*chat, typed="n\nagain\ny\ny\n")  # the question is asked again
    assert (again.exit_code, again.stdout.splitlines()[0]) == (0, "> mail")
    assert again.stdout.count("sent to ann") == 2
    assert "the last message was not answered yet" in again.stderr
    other = command("chat", f"{module}clerk", *place, "-c", "talk", typed="hello\n")
    assert other.exit_code == 4  # it is with another agent


def test_what_was_answered_meanwhile_is_told_to_a_chat(command: Command, where: tuple[str, tuple[str, str]]) -> None:
    module, place = where
    chat = ("chat", f"{module}mailer", *place, "-c", "talk")
    assert command(*chat, typed="mail\ny\n").exit_code == 6
    assert command("runs", "answer", "talk-0", "--deny", "no", *place).exit_code == 0
    more = command(*chat, typed="again\ny\ny\n")
    assert (more.exit_code, more.stdout.splitlines()[0]) == (0, "> mail")
    assert more.stdout.splitlines()[-1] == "Done."


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
