"""What importing the layers costs, against importing what they depend on.

Run ``python -m benchmarks.imports``; with ``--write`` the table goes into docs/benchmarks.md. Every import is that of a
new process, compiled before; its cost is processor time from the first import to the last, without the start of Python.
The rows take turns within each round, and a ratio is the median of the rounds' ratios.

Below it is what ``stagepost --help`` costs, from its first import to its end, against importing what it depends on.
"""

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from statistics import median
from typing import Final

from benchmarks.page import PAGE, write

BEGIN: Final = "<!-- benchmarks.imports writes from here -->"
END: Final = "<!-- imports end here -->"

FLOOR: Final = ("anyio", "pydantic", "structlog", "aiosqlite")
LAYERS: Final = ("stagepost.hub", "stagepost.checkpoint", "stagepost.workflows")
AGENTS: Final = ("stagepost.agents",)
WANTED: Final[Mapping[tuple[str, ...], str]] = {FLOOR: "", LAYERS: "≤ 2", AGENTS: "≤ 2.7"}

TERMINAL: Final = ("typer", "rich.console", "rich.table")
HELP: Final = "stagepost --help"

_PROGRAM: Final = """
from time import process_time
start = process_time()
import {modules}
print(process_time() - start)
"""
_HELP: Final = """
import sys
from time import process_time
sys.argv = ["stagepost", "--help"]
start = process_time()
from stagepost.service.__main__ import main
try:
    main()
except SystemExit:
    print(process_time() - start)
"""


def seconds(modules: Iterable[str]) -> float:
    """The processor time that a new process takes to import these."""
    return _told(_PROGRAM.format(modules=", ".join(modules)))


def seconds_of_help() -> float:
    """The processor time that a new process takes for the help of the command."""
    return _told(_HELP)


def _told(program: str) -> float:
    """What a program prints at last."""
    where = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", program]
    told = subprocess.run(command, env=where, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603  # our own
    return float(told.splitlines()[-1])


def report(rounds: int) -> str:
    """Measure, and return the table as Markdown."""
    load = f"{os.cpu_count()} cores with a load of {os.getloadavg()[0]:.1f} before"
    for modules in WANTED:
        seconds(modules)  # compiles what is not compiled yet
    seconds_of_help()
    helped = [(seconds(TERMINAL), seconds_of_help()) for _ in range(rounds)]
    taken = [{modules: seconds(modules) for modules in WANTED} for _ in range(rounds)]
    packages = ", ".join(f"{name} {version(name)}" for name in FLOOR)
    made = (
        f"`python -m benchmarks.imports {' '.join(sys.argv[1:])}` on {datetime.now(UTC):%Y-%m-%d}: "
        f"Python {platform.python_version()}, {packages}, {platform.system()} {platform.machine()}, "
        f"{load}, medians of {rounds} rounds."
    )
    return "\n".join(
        [
            *(made, "", "| import of | processor | ÷ dependencies | wanted |", "|---|--:|--:|--:|", *_rows(taken)),
            *(
                "",
                "| command | processor | ÷ import of typer and rich | wanted |",
                "|---|--:|--:|--:|",
                _help_row(helped),
            ),
        ]
    )


def _help_row(taken: list[tuple[float, float]]) -> str:
    cost = median(each for _, each in taken)
    ratio = median(each / floor for floor, each in taken)
    return f"| `{HELP}` | {cost * 1e3:.0f} ms | {ratio:.2f} | ≤ 1.5 |"


def _rows(taken: list[dict[tuple[str, ...], float]]) -> Iterable[str]:
    for modules, wanted in WANTED.items():
        names = ", ".join(f"`{name}`" for name in modules)
        cost = median(each[modules] for each in taken)
        ratio = median(each[modules] / each[FLOOR] for each in taken)
        yield f"| {names} | {cost * 1e3:.0f} ms | {ratio:.2f} | {wanted} |"


def main() -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.imports", description="Measure imports against those of the dependencies."
    )
    parser.add_argument("--rounds", type=int, default=21, help="how many times each row has its turn")
    parser.add_argument("--write", action="store_true", help=f"put the table into docs/{PAGE.name}")
    options = parser.parse_args()
    text = report(options.rounds)
    print(text)
    if options.write:
        write(text, BEGIN, END)


if __name__ == "__main__":
    main()
