"""The tables, and the page that they are written into."""

import math
import os
import platform
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from statistics import median
from typing import Final, TypeAlias

from benchmarks.workflows.compare import (
    BARE,
    BESIDE,
    DURABLE,
    ENGINE,
    FIGURES,
    HISTORY,
    OURS,
    PEERS,
    ROOT,
    Column,
    Environment,
    Side,
    Times,
    environment,
    ratio,
    take_turns,
)
from rich.console import Console
from rich.progress import Progress

PAGE: Final = ROOT / "docs" / "benchmarks.md"
BEGIN: Final = "<!-- benchmarks.workflows writes from here -->"
END: Final = "<!-- workflows end here -->"
WITHOUT_SHIM: Final = "fsync is this disk's own: its time is fixed only on Linux with a C compiler (`cc`)."
WITH_SHIM: Final = "fsync takes 1 ms."
Tables: TypeAlias = Mapping[str, Sequence[Column]]
TABLES: Final[Tables] = {
    "in memory": ENGINE,
    "durable, commits ÷ raw commits": DURABLE,
    "durable": FIGURES,
    "words of another process": BESIDE,
    "200 turns": HISTORY,
}


def report(rounds: int, scale: float, tables: Tables = TABLES) -> str:
    """Measure everything, and return it as Markdown."""
    load, console = os.getloadavg()[0], Console(stderr=True)
    with (
        environment() as (where, has_shim),
        Progress(console=console, disable=not console.is_terminal, transient=True) as progress,
    ):
        task = progress.add_task("workflows", total=sum(map(len, tables.values())))
        note = partial(progress.advance, task)
        made = [
            _table(title, columns, partial(_turns, rounds, scale, where, note)) for title, columns in tables.items()
        ]
    how = (
        f"`python -m benchmarks.workflows {' '.join(sys.argv[1:])}` on {datetime.now(UTC):%Y-%m-%d}: "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, anyio {version('anyio')}, "
        f"pydantic {version('pydantic')}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores with a load of {load:.1f} before, medians of {rounds} rounds. "
        f"{WITH_SHIM if has_shim else WITHOUT_SHIM}"
    )
    return "\n\n".join([how, *made])


def _turns(rounds: int, scale: float, where: Environment, note: Callable[[], None], column: Column) -> Times:
    times = take_turns(column, rounds, scale, where)
    note()
    return times


def _table(title: str, columns: Sequence[Column], turns: Callable[[Column], Times]) -> str:
    """Sides as rows, measures as columns."""
    cells: dict[Side, list[str]] = {side: [] for side in (BARE, OURS, *PEERS)}
    for column in columns:
        times = turns(column)
        for side, row in cells.items():
            row.append(_cell(column, times, side))
    rows = [(side.label, *row) for side, row in cells.items() if any(row) or not side.is_installed]
    rows.insert(2, ("wanted", *(column.wanted for column in columns)))
    head = ((title, *(column.name for column in columns)), ("---", *("--:" for _ in columns)))
    return "\n".join(f"| {' | '.join(row)} |" for row in (*head, *rows))


def _cell(column: Column, times: Times, side: Side) -> str:
    if side.module not in times:
        return ""
    figure = median(times[side.module])
    if math.isnan(figure):
        return "not counted"
    return column.unit(figure) if side is BARE else column.cell(figure, ratio(times, side, BARE))
