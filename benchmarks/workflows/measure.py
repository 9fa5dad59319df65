"""What the sides have in common: what their steps write, and how time is taken."""

import gc
import os
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final, TypeAlias

import anyio

STEPS: Final = 10  # of a chain
SEVERAL: Final = 100  # runs at once
MANY: Final = 1000  # runs at once
LONG: Final = 200  # steps of the run whose bytes are counted, and turns of a conversation
Measure: TypeAlias = Callable[[int], float]
Work: TypeAlias = Callable[[int], Coroutine[Any, Any, None]]
Each: TypeAlias = Callable[[Work, int], float]
Task: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

_numbers = count()


def kilobyte() -> str:
    """A text that no other call returns: SQLite does not write pages that have not changed."""
    return f"{next(_numbers):016d}" * 64


def seconds_each(work: Work, number: int) -> float:
    """Seconds that each of a number of things takes, after a short run to warm up.

    Garbage is collected meanwhile, but what was there before is left out of that: what a peer imports is not measured.
    """

    async def timed() -> float:
        await work(max(1, number // 10))
        gc.collect()
        gc.freeze()
        try:
            start = perf_counter()
            await work(number)
            return (perf_counter() - start) / number
        finally:
            gc.unfreeze()

    return anyio.run(timed)


def cpu_each(work: Work, number: int) -> float:
    """Seconds of processor time, of all threads, that each of a number of things takes, after a run to warm up."""

    async def counted() -> float:
        await work(max(1, number // 10))
        gc.collect()
        gc.freeze()
        try:
            start = process_time()
            await work(number)
            return (process_time() - start) / number
        finally:
            gc.unfreeze()

    return anyio.run(counted)


def bytes_each(work: Work, number: int) -> float:
    """Bytes that this process writes for each of a number of things; NaN where the system does not count them."""

    async def counted() -> float:
        before = written()
        await work(number)
        return (written() - before) / number

    return anyio.run(counted)


@contextmanager
def database() -> Iterator[Path]:
    """The path of a database that does not exist yet, in a folder that will not outlive it."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder) / "runs.db"


async def at_once(number: int, work: Task) -> None:
    """Do the same a number of times, all at once."""
    async with anyio.create_task_group() as tasks:
        for _ in range(number):
            tasks.start_soon(work)


async def in_turns(number: int, most: int, work: Task) -> None:
    """Do the same a number of times, as many at once as may be, and then the next ones."""
    while number > 0:
        await at_once(min(number, most), work)
        number -= most


def written() -> float:
    """Bytes that this process has given to ``write``, SQLite's pages among them."""
    accounts = Path(f"/proc/{os.getpid()}/io")
    if not accounts.exists():
        return float("nan")
    lines = dict(line.split(": ") for line in accounts.read_text().splitlines())
    return float(lines["wchar"])
