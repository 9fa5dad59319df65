"""The parts of docs/command-line.md that are generated from the program: ``python -m tests.service._page``."""

import re
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import typer.main

from stagepost.service._cli._commands._root import main
from stagepost.service._cli._exits import MEANINGS

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


def commands() -> Iterator[tuple[str, Any]]:
    """All commands, by what is typed."""
    root: Any = typer.main.get_command(main)
    for name, command in root.commands.items():
        below = getattr(command, "commands", None)
        if below is None:
            yield name, command
        else:
            yield from ((f"{name} {each}", found) for each, found in below.items())


def command_table() -> str:
    rows = [
        f"| `{name}{_arguments(command)}` | {command.help.strip()} |"
        for name, command in sorted(commands(), key=itemgetter(0))
    ]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def exit_table() -> str:
    rows = [f"| {int(code)} | {meaning} |" for code, meaning in MEANINGS.items()]
    return "\n".join(["| exit code | meaning |", "|--:|---|", *rows])


def written(page: str) -> str:
    """The page with its generated parts."""
    for mark, table in (("commands", command_table()), ("exit codes", exit_table())):
        pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
        page = pattern.sub(lambda found, table=table: f"{found[1]}\n{table}\n\n{found[2]}", page)  # type: ignore[misc]
    return page


def _arguments(command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    return "".join(f" {each.metavar or each.name.upper()}" for each in arguments)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
