"""The benchmark of the catalogue runs, with tiny numbers; how fast it is, is for it to say."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from benchmarks.catalogue import asking, report
from benchmarks.catalogue.recovering import recover

from stagepost.checkpoint import RunStatus, SqliteStore


@pytest.fixture(scope="module")
def file() -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        yield report.made(Path(folder, "runs.db"), 300, 6)


def test_each_question_is_answered_and_finds_something(file: Path) -> None:
    async def total() -> None:
        async with SqliteStore.reader(file) as reader:
            assert await reader.verify() == []
            assert (await reader.count()).total == 307
            assert (await reader.count(by="status")).by[RunStatus.RUNNING] == 3

    anyio.run(total)
    answers = anyio.run(report.answered, file, 1)
    assert all(answer.ours > 0 and answer.floor > 0 for answer in answers)
    assert [answer.question.name for answer in answers if answer.question.wanted is None]


def test_all_open_runs_are_taken_up(file: Path) -> None:
    figures = anyio.run(recover, file)
    assert figures.keys() == {"recover", "rest", "memory"}


def test_a_ratio_is_beside_its_floor() -> None:
    (question, *_) = asking.questions(datetime.fromtimestamp(0, UTC))
    (_, _, line) = report.table([report.Answered(question, 3.0, 1.5, 2.0)])
    assert line == "| newest failed | 1.5 ms | 3.0 ms | 2.00 | ≤ 50 ms |"
