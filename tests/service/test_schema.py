"""The published schema: what the page's file says is what the program writes."""

import json
from pathlib import Path

from tests.service.conftest import Command

from stagepost.service._cli._schema import OUTPUTS, schemas

PUBLISHED = Path(__file__).parents[2] / "docs" / "cli-schema.json"


def test_the_published_schema_is_that_of_the_program(command: Command) -> None:
    """``stagepost schema > docs/cli-schema.json`` writes it anew."""
    assert json.loads(PUBLISHED.read_text()) == schemas() == json.loads(command("schema").stdout)


def test_each_field_is_explained() -> None:
    for name, model in schemas()["$defs"].items():
        if name == "JsonValue":
            continue
        assert model["description"], name
        assert all("description" in field for field in model.get("properties", {}).values()), name


def test_the_schema_of_one_command_is_printed(command: Command) -> None:
    assert json.loads(command("schema", "runs ls").stdout)["anyOf"] == [
        {"$ref": "#/$defs/RunPage"},
        {"$ref": "#/$defs/RunCounts"},
    ]
    assert command("schema", "runs dance").exit_code == 3


def test_each_command_that_takes_json_has_a_schema() -> None:
    import typer.main

    from stagepost.service._cli._commands._root import main

    root = typer.main.get_command(main)
    found = set()
    for name, command in root.commands.items():  # type: ignore[attr-defined]  # a group
        below = getattr(command, "commands", None)
        each = {name: command} if below is None else {f"{name} {sub}": found for sub, found in below.items()}
        found |= {path for path, one in each.items() if any(option.name == "json" for option in one.params)}
    assert found == set(OUTPUTS)
