"""Instructions of the processor per message: unlike times, they do not depend on what else the machine does.

They are counted by ``perf``, where the processor's counters may be read, and else by valgrind's cachegrind, which takes
some minutes. As a program, this runs one scenario: ``python -m benchmarks.hub.instructions hub "one way" 0``.
"""

import gc
import os
import re
import subprocess
import sys
from functools import partial
from shutil import which
from tempfile import TemporaryFile
from typing import Final

import anyio
from benchmarks.hub.scenarios import SCENARIOS
from benchmarks.hub.sides import MANY, Side, Tally, open_hub, open_queue

from stagepost.hub import _time_slice, _worker

SIDES: Final[dict[str, Side]] = {"queue": open_queue, "hub": open_hub}
_SLOWER: Final = 50
_PERF: Final = ("perf", "stat", "-x", ",", "-e", "instructions:u")
_CACHEGRIND: Final = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_READINGS: Final = {
    _PERF: re.compile(r"^(\d+),[^,]*,instructions:u", re.MULTILINE),
    _CACHEGRIND: re.compile(r"I\s+refs:\s+([\d,]+)"),
}


def counter() -> tuple[str, ...] | None:
    """The command that counts; None if there is none."""
    return next((way for way in (_PERF, _CACHEGRIND) if which(way[0]) and _counted(way, ("-c", "")) is not None), None)


def _counted(way: tuple[str, ...], arguments: tuple[str, ...]) -> int | None:
    """How many instructions a Python program takes."""
    with TemporaryFile("w+") as told:
        subprocess.run(  # noqa: S603 - commands of this module
            [*way, sys.executable, *arguments],
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=told,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        told.seek(0)
        found = _READINGS[way].search(told.read())
    return None if found is None else int(found[1].replace(",", ""))


def per_message(way: tuple[str, ...], side: str, scenario: str, count: int) -> float:
    """Instructions per message: of a run with so many of them, less those of a run that only warms up."""
    runs = [
        _counted(way, ("-m", "benchmarks.hub.instructions", side, scenario, str(number))) or 0 for number in (0, count)
    ]
    return (runs[1] - runs[0]) / count


def instructions(count: int) -> list[str]:
    """The rows of the table."""
    way = counter()
    if way is None:
        return ["Instructions were not counted: neither `perf` nor `valgrind` can do so here."]
    rows = [f"| instructions per message, by {way[0]} | queue | hub | hub ÷ queue |", "|---|--:|--:|--:|"]
    for scenario in SCENARIOS:
        queue, hub = (per_message(way, side, scenario.name, count) for side in SIDES)
        rows.append(f"| {scenario.name} | {queue:,.0f} | {hub:,.0f} | **{hub / queue:.2f}** |")
    return rows


def _stretch_time() -> None:
    """Let the hub's tasks run as long at a time as they do without valgrind, which slows the processor down."""
    _time_slice._SLICE *= _SLOWER  # type: ignore[misc]  # noqa: SLF001
    _worker._TURN *= _SLOWER  # type: ignore[misc]  # noqa: SLF001


async def _run(side: str, name: str, count: int) -> None:
    (scenario,) = (scenario for scenario in SCENARIOS if scenario.name == name)
    tally = Tally()
    async with SIDES[side](tally) as channel:
        await scenario.run(channel, tally, 10 * MANY)
        gc.collect()
        gc.freeze()
        if count:
            await scenario.run(channel, tally, count)


if __name__ == "__main__":
    _stretch_time()
    anyio.run(partial(_run, sys.argv[1], sys.argv[2], int(sys.argv[3])))
