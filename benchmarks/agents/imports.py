"""How long imports take, in a process that has not imported anything else."""

import os
import subprocess
import sys
from collections.abc import Iterable
from statistics import median
from typing import Final

from benchmarks.agents.measure import Figures, times

VENDORS: Final = ("litellm", "mcp")
_TIMES: Final = 5
_PROGRAM: Final = """
import sys
from time import perf_counter
start = perf_counter()
import {modules}
print(perf_counter() - start, len(sys.modules.keys() & {vendors}))
"""


def importing(modules: Iterable[str], scale: float) -> Figures:
    """Seconds that imports take, and how many of the vendors' packages come with them."""
    program = _PROGRAM.format(modules=", ".join(modules), vendors=set(VENDORS))
    _run(program)  # compiles what is not compiled yet
    done = [_run(program) for _ in range(times(_TIMES, scale))]
    return {"wall": median(seconds for seconds, _ in done), "vendors": done[0][1]}


def _run(program: str) -> tuple[float, float]:
    where = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=where, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    seconds, vendors = map(float, done.stdout.split())
    return seconds, vendors
