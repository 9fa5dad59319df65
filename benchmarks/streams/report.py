"""The table, and the page that it is written into."""

import os
import platform
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from statistics import median
from typing import Final, NamedTuple

from benchmarks.agents.measure import Measure
from benchmarks.streams import crowd, hearing, reading
from rich.console import Console
from rich.progress import track

BEGIN: Final = "<!-- benchmarks.streams writes from here -->"
END: Final = "<!-- streams end here -->"


def _digits(number: float) -> str:
    return f"{number:.2f}" if number < 10 else f"{number:,.0f}"  # noqa: PLR2004  # digits worth reading


def _micros(seconds: float) -> str:
    return f"{_digits(seconds * 1e6)} µs"


def _millis(seconds: float) -> str:
    return f"{_digits(seconds * 1e3)} ms"


def _seconds(seconds: float) -> str:
    return f"{_digits(seconds)} s"


def _kilobytes(size: float) -> str:
    return f"{_digits(size / 1e3)} KB"


class Row(NamedTuple):
    """Something that is measured, and the least that it can take.

    Attributes:
        name: What it is.
        floor: What the floor is.
        measure: Measures both.
        unit: Makes text of them.
        wanted: What we want to reach.
    """

    name: str
    floor: str
    measure: Measure
    unit: Callable[[float], str]
    wanted: str = ""


ROWS: Final[Sequence[Row]] = (
    Row("a numbered part at 200 turns", "a read of the store", reading.part, _micros, "≤ 40 µs more"),
    Row("a commit is heard by one", "an event wakes a task", hearing.one, _micros, "≤ 200 µs"),
    Row("a read of the store", "an event wakes a task", hearing.read, _micros),
    Row("a commit is heard by 1,000", "an event wakes 1,000 tasks", hearing.many, _millis, "≤ 20 ms"),
    Row("a token is heard", "an event wakes a task", hearing.token, _micros, "≤ 1 ms"),
    Row("1,000 runs, each with a listener: a turn", "without listeners", crowd.work, _micros),
    Row("1,000 runs, each with a listener: all have ended", "without listeners", crowd.late, _seconds),
    Row("1,000 runs, each with a listener: memory of a run", "without listeners", crowd.memory, _kilobytes),
)


def report(rounds: int, scale: float, rows: Sequence[Row] = ROWS) -> str:
    """Measure everything, and return it as Markdown."""
    load, console = os.getloadavg()[0], Console(stderr=True)
    shown = track(rows, "streams", console=console, disable=not console.is_terminal, transient=True)
    lines = [_line(row, rounds, scale) for row in shown]
    how = (
        f"`python -m benchmarks.streams {' '.join(sys.argv[1:])}` on {datetime.now(UTC):%Y-%m-%d}: "
        f"Python {platform.python_version()}, anyio {version('anyio')}, pydantic {version('pydantic')}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores with a load of {load:.1f} before, "
        f"medians of {rounds} rounds."
    )
    head = "| | ours | floor | | ÷ floor | wanted |\n|---|--:|--:|---|--:|--:|"
    return "\n".join([how, "", head, *lines])


def _line(row: Row, rounds: int, scale: float) -> str:
    found = [row.measure(scale) for _ in range(rounds)]
    ours, floor = (median(each[side] for each in found) for side in ("ours", "floor"))
    ratio = median(each["ours"] / each["floor"] for each in found)
    return f"| {row.name} | {row.unit(ours)} | {row.unit(floor)} | {row.floor} | {_digits(ratio)} × | {row.wanted} |"
