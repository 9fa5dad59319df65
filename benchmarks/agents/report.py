"""The tables, and the page that they are written into."""

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Final

from benchmarks.agents.compare import (
    BURST,
    CALL,
    IMPORTS,
    LONG,
    LONG_RUNS,
    LOOP,
    TALKS,
    Place,
    Row,
    Table,
    Times,
    environment,
    take_turns,
)
from benchmarks.workflows.report import WITH_SHIM, WITHOUT_SHIM
from rich.console import Console
from rich.progress import track

BEGIN: Final = "<!-- benchmarks.agents writes from here -->"
END: Final = "<!-- agents end here -->"
TABLES: Final[Sequence[Table]] = (LOOP, CALL, TALKS, BURST, LONG, LONG_RUNS, IMPORTS)


def report(rounds: int, scale: float, *, peers: str = sys.executable, tables: Sequence[Table] = TABLES) -> str:
    """Measure everything, and return it as Markdown."""
    load, console = os.getloadavg()[0], Console(stderr=True)
    with environment() as (where, has_shim):
        place = Place(where, peers, scale)
        shown = track(tables, "agents", console=console, disable=not console.is_terminal, transient=True)
        made = [_table(table, rounds, place) for table in shown]
    options = " ".join("peers/bin/python" if option == peers else option for option in sys.argv[1:])
    how = (
        f"`python -m benchmarks.agents {options}` on {datetime.now(UTC):%Y-%m-%d}: "
        f"Python {platform.python_version()}, anyio {version('anyio')}, pydantic {version('pydantic')}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores with a load of {load:.1f} before, "
        f"medians of {rounds} rounds. {WITH_SHIM if has_shim else WITHOUT_SHIM}"
    )
    return "\n\n".join([how, *made])


def _table(table: Table, rounds: int, place: Place) -> str:
    versions = {row: place.version(row) for row in table.rows}
    times = take_turns([row for row, found in versions.items() if found is not None], rounds, place)
    names = [column.name for column in table.columns]
    head = (table.title, *names, "wanted"), ("---", *("--:" for _ in names), "--:")
    rows = [_row(table, row, times, versions) for row in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (*head, *rows))


def _row(table: Table, row: Row, times: Times, versions: Mapping[Row, str | None]) -> Sequence[str]:
    found = versions[row]
    if found is None:
        return (f"{row.name} (not installed)", *("" for _ in table.columns), row.wanted)
    return (f"{row.name} {found}".strip(), *(column.cell(times, row) for column in table.columns), row.wanted)
