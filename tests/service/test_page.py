"""docs/command-line.md says what the program does."""

import re

from tests._needs import need

need("typer", "rich")

from tests.service._page import PAGE, commands, written  # noqa: E402  # after the check of what they need


def test_the_tables_of_the_page_are_those_of_the_program() -> None:
    """``python -m tests.service._page`` writes them anew."""
    assert written(PAGE.read_text()) == PAGE.read_text()


def test_the_page_names_no_command_or_option_that_is_not_there() -> None:
    text = PAGE.read_text()
    known = {name for name, _ in commands()}
    for found in re.findall(r"^(?:\$ )?stagepost ((?:runs |schedules )?[a-z]+)", text, re.MULTILINE):
        assert found in known
    options = {option for _, command in commands() for each in command.params for option in each.opts}
    for found in re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", text):
        assert found in {*options, "--help", "--install-completion"}
