"""The parts of docs/architecture.md that are made from the code: ``python -m tests.docs._architecture`` writes them."""

import ast
import re
from pathlib import Path
from typing import Final

from tests.docs._journeys import LAYERS, passed

from stagepost.workflows._runner._stay import TRANSITIONS

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "architecture.md"
PART: Final = re.compile(r"(<!-- (?P<name>[\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def file_of(module: str) -> Path:
    """Where a module is, by its name below the namespace."""
    return ROOT / module.partition("/")[0] / "stagepost" / f"{module}.py"


def about(module: str) -> str:
    """What the first line of a module's docstring says."""
    docstring = ast.get_docstring(ast.parse(file_of(module).read_text())) or ""
    return docstring.partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def journey(name: str) -> str:
    """The modules that a journey always passes, from the top layer to the lowest."""
    modules = sorted(passed(name).always, key=lambda module: (-LAYERS.index(module.partition("/")[0]), module))
    rows = [f"| `{module}` | {about(module)} |" for module in modules]
    return "\n".join(["| module | what it is |", "|---|---|", *rows, ""])


def transitions() -> str:
    """The table of transitions of a run."""
    rows = [f"| {before} | {', '.join(after) or 'nothing'} |" for before, after in named_transitions()]
    return "\n".join(["| from | to |", "|---|---|", *rows, ""])


def named_transitions() -> list[tuple[str, list[str]]]:
    """The same as names, in the order of the states."""
    return [
        (before.value, [each.value for each in TRANSITIONS if each in after]) for before, after in TRANSITIONS.items()
    ]


def part(name: str) -> str:
    """One part of the page."""
    return transitions() if name == "transitions" else journey(name.removeprefix("journey of "))


def made(text: str) -> str:
    """The page with all these parts as they are now."""
    return PART.sub(lambda found: f"{found[1]}\n{part(found['name'])}\n{found[3]}", text)


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text()))
