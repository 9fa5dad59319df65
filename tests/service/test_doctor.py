"""``doctor``: what it finds, and that it shows no key."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from tests.service.conftest import Command

from stagepost.checkpoint import SqliteLibrary, StoreFile
from stagepost.service._cli._doctor import installation, sqlite, store


def statuses(command: Command, *arguments: object, **environment: str | None) -> dict[str, str]:
    result = command("doctor", *arguments, "--json", **environment)
    return {check["name"]: check["status"] for check in json.loads(result.stdout)["checks"]}


def test_a_sound_installation_has_no_problems(command: Command, owned: Path) -> None:
    result = command("doctor", "-f", owned)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "no problems")
    found = statuses(command, "-f", owned)
    assert {found[name] for name in ("Python", "stagepost", "SQLite", "SQLite FTS5", "schema", "owner")} == {"ok"}


def test_each_extra_for_users_is_looked_at() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    looked_at = {check.name.removeprefix("extra ") for check in installation() if check.name.startswith("extra ")}
    ours = {
        "bench",
        "bench-agents",
        "cli",
        "demo",
        "dev",
        "test",
    }  # of those who work on it, and what the command needs
    assert looked_at == set(project["optional-dependencies"]) - ours


def test_the_keys_of_providers_are_named_and_not_shown(command: Command, file: Path) -> None:
    result = command("doctor", "-f", file, OPENAI_API_KEY="sk-very-secret")
    assert "OPENAI_API_KEY" in result.stdout
    assert "sk-very" not in result.stdout
    assert statuses(command, "-f", file, OPENAI_API_KEY=None)["provider keys"] in ("note", "ok")


def test_a_missing_file_is_a_problem_only_if_it_was_named(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert statuses(command)["file"] == "note"
    assert command("doctor", "-f", tmp_path / "none.db").exit_code == 1
    assert "is a folder" in command("doctor", "-f", tmp_path).stdout
    (tmp_path / "text.db").write_text("no database at all, but a text of some length" * 100)
    assert statuses(command, "-f", tmp_path / "text.db")["file"] == "problem"


def test_what_is_wrong_with_a_file_is_told_with_what_to_do(file: Path) -> None:
    sound = StoreFile.at(file)
    wrong = {
        "schema": replace(sound, schema=sound.known_schema + 1),
        "WAL": replace(sound, wal_size=10**9),
        "disk": replace(sound, free=1000),
        "written by": replace(sound, writer="process 7 on here"),
    }
    for name, found in wrong.items():
        checks = {check.name: check for check in store(file, found)}
        assert checks[name].status != "ok"
        assert checks[name].advice is not None or name == "written by"
    for oldest, status in ((sound.known_schema - 1, "warning"), (sound.known_schema, "problem")):
        older = replace(sound, schema=sound.known_schema - 1, oldest_schema=oldest)
        assert {check.name: check.status for check in store(file, older)}["schema"] == status
    assert [check.found for check in store(file, replace(sound, is_store=False))] == [f"{sound.path} is no store"]


def test_an_sqlite_that_is_too_old_or_cannot_search_is_told() -> None:
    found = list(sqlite(SqliteLibrary("3.30.0", "3.37.0", is_enough=False, has_fts5=False)))
    assert [check.status for check in found] == ["problem", "problem"]
