"""How long a killed program takes until it does something new."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from subprocess import PIPE, Popen
from time import monotonic
from typing import NamedTuple

from benchmarks.workflows.measure import database


class Announcement(NamedTuple):
    """When a program reached its second step, on the clock that all processes of a machine share.

    Attributes:
        started: When its process was started.
        imported: When it had imported all it needs.
        reached: When the second step began.
    """

    started: float
    imported: float
    reached: float


def restart(side: str, number: int, *, imports: bool = True) -> float:
    """Seconds from a process's start to its first new step after another one was killed; the median of some kills.

    Args:
        side: Whose program.
        number: How many are killed.
        imports: Count from the start of the process, not only from the end of its last import.
    """
    with database() as path:
        _announce(side, path)
        times = [_announce(side, path) for _ in range(number)]
    return median(time.reached - (time.started if imports else time.imported) for time in times)


def _announce(side: str, path: Path) -> Announcement:
    """Start the program, wait for its second step, and kill it."""
    started = monotonic()
    with _killed([sys.executable, "-m", f"benchmarks.workflows.killed.{side}", str(path)]) as program:
        line = "" if program.stdout is None else program.stdout.readline()
    imported, reached = map(float, line.split())
    return Announcement(started, imported, reached)


@contextmanager
def _killed(command: list[str]) -> Iterator[Popen[str]]:
    with Popen(command, stdout=PIPE, text=True) as program:  # noqa: S603 - our own program
        try:
            yield program
        finally:
            program.kill()
