"""Random programs whose answers, signals and verdicts come from other processes: each ends as if it were a function."""

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from anyio import fail_after
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.checkpoint._processes import environment
from tests.workflows import _answerer
from tests.workflows._meanings import OUTSIDE_WORKFLOWS, START, Meant
from tests.workflows._words import dying, running

from stagepost.checkpoint import RunStatus, Snapshot, SqliteStore, WaitStatus
from stagepost.workflows import Pattern, State

PATIENCE = 60
PROCESSES = 2


class Answerer:
    """Another process; see `_answerer`.

    Attributes:
        said: What it has said, since it was started last.
    """

    def __init__(self) -> None:
        self.said: list[list[str]] = []
        self._over = threading.Event()
        self._process = subprocess.Popen(
            [sys.executable, "-m", _answerer.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def start(self, file: Path, cancelled: Mapping[str, int]) -> None:
        """Serve a file from now on."""
        self.said = []
        self._over.clear()
        self._tell(json.dumps([str(file), cancelled]))

    def stop(self) -> None:
        """Serve it no more; then all that was said is known."""
        self._tell("")
        assert self._over.wait(PATIENCE)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(PATIENCE) == 0
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            words = json.loads(line)
            if words == ["over"]:
                self._over.set()
            else:
                self.said.append(words)


@pytest.fixture(scope="module")
def answerers() -> Iterator[Sequence[Answerer]]:
    made = [Answerer() for _ in range(PROCESSES)]
    yield made
    for each in made:
        each.close()


def said_by(answerers: Sequence[Answerer]) -> list[tuple[str, str, str]]:
    return [(verb, run_id, wait) for each in answerers for verb, run_id, wait in each.said]


class Program:
    """Runs of some workflows on one file, in one process after the other."""

    def __init__(self, file: Path, meants: Sequence[Meant], answerers: Sequence[Answerer]) -> None:
        self._file = file
        self._answerers = answerers
        self._workflows = {f"r{number}": _pattern(meant) for number, meant in enumerate(meants)}
        self.happened: list[str] = []
        self._options: dict[str, Any] = {"deps": self.happened, "max_attempts": None, "patience": PATIENCE}

    async def live(self, words: int) -> None:
        """Work on them until so much was said, or all have ended; then the process dies."""
        store = SqliteStore(self._file, durability="process")
        async with dying(store, *self._workflows.values(), **self._options) as runner:
            await runner.recover()
            runs = [await runner.start(work, START, run_id=run_id) for run_id, work in self._workflows.items()]
            while len(said_by(self._answerers)) < words and any(run.status.is_open for run in runs):  # noqa: ASYNC110  # other processes
                await anyio.sleep(0.005)

    async def end(self) -> Mapping[str, tuple[Snapshot, State | None]]:
        """Work on them to their ends."""
        store = SqliteStore(self._file, durability="process")
        async with running(store, *self._workflows.values(), **self._options) as runner:
            await runner.recover()
            found: dict[str, tuple[Snapshot, State | None]] = {}
            for run_id, work in self._workflows.items():
                run = await runner.start(work, START, run_id=run_id)
                while (await run.settled()).is_open:  # noqa: ASYNC110  # other processes
                    await anyio.sleep(0.005)
                is_done = run.status is RunStatus.COMPLETED
                found[run_id] = (await store.load(run_id), await run.result() if is_done else None)
            return found


def _pattern(meant: Meant) -> Pattern:
    assert isinstance(meant.node, Pattern)
    return meant.node


def check(
    answerers: Sequence[Answerer],
    meants: Sequence[Meant],
    lives: Sequence[int],
    cancelled: Mapping[str, int],
) -> None:
    """Run the programs, each life for some words, and the last one to the end."""

    async def work(program: Program) -> Mapping[str, tuple[Snapshot, State | None]]:
        with fail_after(PATIENCE):
            said = 0
            for words in lives:
                said += words
                await program.live(said)
            return await program.end()

    with TemporaryDirectory() as folder:
        file = Path(folder, "runs.db")
        anyio.run(_made, file)
        program = Program(file, meants, answerers)
        for each in answerers:
            each.start(file, cancelled)
        try:
            found = anyio.run(work, program)
        finally:
            for each in answerers:
                each.stop()
    assert set(Counter(program.happened).values()) <= {1}, "no effect happens twice"
    said = Counter(said_by(answerers))
    assert {count for (verb, *_), count in said.items() if verb != "cancel"} <= {1}, "one word counts for each wait"
    for (run_id, (snapshot, result)), meant in zip(found.items(), meants, strict=True):
        told = {wait.partition(":")[0] for verb, run, wait in said if run == run_id and verb != "cancel"}
        ended = {f"{run_id}/{wait.place}" for wait in snapshot.waits if wait.status is WaitStatus.ANSWERED}
        if ("cancel", run_id, "") in said:
            assert snapshot.run.status is RunStatus.CANCELLED
        else:
            assert snapshot.run.status is RunStatus.COMPLETED
            assert dict(result or {}) == {**START, **meant.fold(START)}
        assert told == ended


async def _made(file: Path) -> None:
    """An inbox opens only what is there."""
    async with SqliteStore(file, durability="process"):
        pass


LIVES = st.lists(st.integers(0, 12), max_size=3)
CANCELLED = st.dictionaries(st.sampled_from([f"r{number}" for number in range(8)]), st.integers(0, 20), max_size=2)
PROGRAMS = given(meants=OUTSIDE_WORKFLOWS, lives=LIVES, cancelled=CANCELLED)
FEW, MANY = (
    settings(
        max_examples=examples,
        deadline=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink takes minutes
    )
    for examples in (12, 300)
)


@FEW
@PROGRAMS
def test_p9_programs_that_other_processes_answer_are_their_folds(
    answerers: Sequence[Answerer], meants: list[Meant], lives: list[int], cancelled: dict[str, int]
) -> None:
    check(answerers, meants, lives, cancelled)


@pytest.mark.long
@MANY
@PROGRAMS
def test_p9_very_many_programs_that_other_processes_answer_are_their_folds(
    answerers: Sequence[Answerer], meants: list[Meant], lives: list[int], cancelled: dict[str, int]
) -> None:
    check(answerers, meants, lives, cancelled)
