"""The table."""

import os
import platform
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import anyio
from benchmarks.catalogue.asking import Question, asked, floor, middle_of, questions
from benchmarks.catalogue.filling import begin, fill
from benchmarks.catalogue.recovering import recovered

from stagepost.checkpoint import SqliteStore

BEGIN: Final = "<!-- benchmarks.catalogue writes from here -->"
END: Final = "<!-- catalogue ends here -->"


class Answered(NamedTuple):
    """A question with the medians of the milliseconds that its answers took, and of their ratios."""

    question: Question
    ours: float
    floor: float
    ratio: float


def report(runs: int, still_open: int, rounds: int) -> str:
    """Measure, and return the tables as Markdown."""
    load = f"{os.cpu_count()} cores with a load of {os.getloadavg()[0]:.1f} before"
    with TemporaryDirectory() as folder:
        file = made(Path(folder, "runs.db"), runs, still_open)
        size = file.stat().st_size / 1e6
        answers = anyio.run(answered, file, rounds)
        few = made(Path(folder, "few.db"), 0, still_open // 10)
        recoveries = [(count, recovered(path)) for path, count in ((few, still_open // 10), (file, still_open))]
    title = (
        f"`python -m benchmarks.catalogue {' '.join(sys.argv[1:])}` on {datetime.now(UTC):%Y-%m-%d}: "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {platform.system()} "
        f"{platform.machine()}, {load}, medians of {rounds} rounds; "
        f"{runs:,} ended and {still_open:,} open runs in {size:.0f} MB."
    )
    return "\n".join([title, "", *table(answers), "", *_recoveries(recoveries)])


def made(file: Path, runs: int, still_open: int) -> Path:
    """A store of so many runs."""
    anyio.run(begin, file)
    fill(file, runs, still_open)
    return file


async def answered(file: Path, rounds: int) -> Sequence[Answered]:
    """All questions, each asked by turns with its floor."""
    found = []
    async with SqliteStore.reader(file) as reader:
        with closing(sqlite3.connect(file)) as connection:
            for question in questions(middle_of(file)):
                times = [
                    (await asked(reader, question.ask), floor(connection, question.floor)) for _ in range(rounds + 1)
                ][1:]  # the first one fills caches
                ours, raw = (median(column) for column in zip(*times, strict=True))
                found.append(Answered(question, ours, raw, median(ours / raw for ours, raw in times)))
    return found


def table(answers: Sequence[Answered]) -> Iterator[str]:
    """The answers as a table of Markdown."""
    yield "| pages of 100 runs, and counts | raw SQLite | stagepost | ÷ raw | wanted |"
    yield "|---|--:|--:|--:|--:|"
    for question, ours, raw, ratio in answers:
        wanted = "" if question.wanted is None else f"≤ {question.wanted:.0f} ms"
        yield f"| {question.name} | {raw:.1f} ms | {ours:.1f} ms | {ratio:.2f} | {wanted} |"


def _recoveries(recoveries: Sequence[tuple[int, dict[str, float]]]) -> Iterator[str]:
    yield "| open runs | `recover()` | until all are parked | memory beyond an open runner |"
    yield "|--:|--:|--:|--:|"
    for count, figures in recoveries:
        yield f"| {count:,} | {figures['recover']:.2f} s | {figures['rest']:.2f} s | {figures['memory']:.1f} MB |"
