"""Commands on a file whose values are encrypted: ``--app`` has the keys, which are given in no other way."""

import json
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from tests.service import _flows as flows
from tests.service.conftest import APP, Command, owner

from stagepost.checkpoint import SqliteStore
from stagepost.service._verbs._versions import version_of
from stagepost.workflows import Runner

SEALED = "tests.service._flows:sealed"
OTHERWISE = "tests.service._flows:sealed_otherwise"


async def _made(path: Path) -> None:
    async with flows.sealed(SqliteStore(path)).store as store, Runner(store, workflows=flows.workflows) as runner:
        await (await runner.start(flows.digest, {"n": 1}, run_id="digest-1", keep="all")).settled()
        boom = {"boom": str(path.with_name("repaired"))}
        await (await runner.start(flows.quick, boom, run_id="failed-1")).settled()
        await (await runner.start(flows.mail, {}, run_id="mail-1")).settled()
        await runner.schedule(flows.quick, timedelta(days=1), key="nightly")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    anyio.run(_made, path)
    return path


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("runs", "ls"), 0, "the press is"),
        (("runs", "show", "failed-1"), 0, "the press is"),
        (("runs", "show", "digest-1"), 0, "two lines"),
        (("runs", "history", "digest-1"), 0, "two lines"),
        (("runs", "watch", "failed-1"), 1, "the press is"),
        (("runs", "waits"), 0, "two lines"),
        (("schedules", "ls"), 0, "every 1 d"),
        (("check",), 0, "open runs"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_is_read_is_decrypted(
    command: Command, file: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    result = command(*arguments, "-f", file, "--app", SEALED)
    assert (result.exit_code, said in result.stdout, "sealed" in result.stdout) == (code, True, False), result.stderr


def test_with_other_keys_it_is_told_which_are_missing_and_none_is_shown(command: Command, file: Path) -> None:
    result = command("runs", "show", "failed-1", "-f", file, "--app", OTHERWISE)
    assert (result.exit_code, "was encrypted by key" in result.stderr) == (2, True)
    assert "oooo" not in result.stderr + result.stdout
    assert "was encrypted by key" in command("runs", "ls", "-f", file, "--app", OTHERWISE).stdout


def test_an_answer_is_checked_encrypted_and_heard(command: Command, file: Path) -> None:
    assert command("runs", "answer", "digest-1", '"perhaps"', "-f", file, "--app", SEALED).exit_code == 4
    assert command("runs", "answer", "digest-1", "true", "-f", file, "--app", SEALED).exit_code == 0
    result = command("runs", "resume", "digest-1", "-f", file, "--app", SEALED)
    assert (result.exit_code, result.stdout.split()[-1]) == (0, "completed"), result.stderr


def test_a_signal_is_encrypted_and_heard_by_the_owner(command: Command, file: Path) -> None:
    with owner(file, flows.sealed):
        assert command("runs", "signal", "mail-1", "letter", '"hello"', "-f", file, "--app", SEALED).exit_code == 0
        assert command("runs", "watch", "mail-1", "-f", file, "--app", SEALED).exit_code == 0


def test_a_failed_run_goes_on_and_is_followed(command: Command, file: Path) -> None:
    file.with_name("repaired").touch()
    result = command("runs", "resume", "failed-1", "-f", file, "--app", SEALED)
    assert (result.exit_code, result.stdout.split()[-1]) == (0, "completed"), result.stderr


def test_a_run_is_forked(command: Command, file: Path) -> None:
    result = command(
        "runs", "fork", "failed-1", "-f", file, "--app", SEALED, "--id", "fork-1", "--changes", '{"boom": null}'
    )
    assert result.exit_code == 0, result.stderr
    shown = json.loads(command("runs", "show", "fork-1", "-f", file, "--app", SEALED, "--json").stdout)
    assert shown["run"]["status"] == "completed"


def test_a_schedule_is_paused_and_resumed(command: Command, file: Path) -> None:
    for act in ("pause", "resume"):
        result = command("schedules", act, "nightly", "-f", file, "--app", SEALED)
        assert result.exit_code == 0, result.stderr
    assert "every 1 d" in command("schedules", "ls", "-f", file, "--app", SEALED).stdout


@pytest.mark.parametrize("app", [(), ("--app", APP)], ids=["nothing", "without-keys"])
@pytest.mark.parametrize(
    "arguments",
    [("answer", "digest-1", "true"), ("signal", "mail-1", "letter", '"hello"'), ("settle", "digest-1", "charge")],
    ids=lambda value: value[0],
)
def test_without_keys_nothing_is_sent_that_the_owner_would_not_read(
    command: Command, file: Path, app: tuple[str, ...], arguments: tuple[str, ...]
) -> None:
    options = ("--retry",) if arguments[0] == "settle" else ()
    result = command("runs", *arguments, *options, "-f", file, *app)
    assert (result.exit_code, "is encrypted" in result.stderr, "--app" in result.stderr) == (2, True, True)
    assert command("runs", "show", arguments[1], "-f", file, "--app", SEALED).exit_code == 0


def test_words_of_errors_are_not_searched(command: Command, file: Path) -> None:
    result = command("runs", "ls", "--text", "press", "-f", file, "--app", SEALED)
    assert (result.exit_code, "keeps encrypted" in result.stderr) == (2, True)


def test_without_keys_it_is_shown_what_is_not_encrypted(command: Command, file: Path) -> None:
    result = command("runs", "ls", "-f", file)
    assert (result.exit_code, "failed-1" in result.stdout, "press" in result.stdout) == (0, True, False)


async def test_pages_hear_of_commits_to_an_encrypted_store(tmp_path: Path) -> None:
    made = flows.sealed(SqliteStore(tmp_path / "runs.db"))
    async with made.store as store, made as runner:
        read = version_of(store)
        assert read is not None
        before = await read()
        await (await runner.start(flows.quick, {})).result()
        assert await read() != before
    assert version_of(object()) is None
