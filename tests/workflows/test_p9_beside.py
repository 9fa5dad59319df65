"""Several processes on one file: each word that was acknowledged is acted on once, whatever becomes of the owner."""

import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest
from anyio import fail_after
from tests.checkpoint._processes import Other, module
from tests.workflows import _beside
from tests.workflows._beside import RUNS, VOTES, notes_of

from stagepost.checkpoint import RunStatus, Snapshot, SqliteStore, WaitStatus

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

PATIENCE = 120  # seconds: several interpreters start


class Process:
    """One that has its imports done and waits until it is told to begin."""

    def __init__(self, other: Other) -> None:
        self.other = other

    async def begin(self, ready: str | None = None) -> None:
        """Let it begin, and wait until it says that it has."""
        assert self.other.process.stdin is not None
        await self.other.process.stdin.send(b"go\n")
        assert ready is None or await self.other.line() == ready

    def send(self, number: int) -> None:
        os.kill(self.other.process.pid, number)


@asynccontextmanager
async def processes(role: str, count: int, *arguments: object) -> AsyncIterator[list[Process]]:
    """So many of them; a writer is told its number."""
    async with AsyncExitStack() as stack:
        made = list[Process]()
        for number in range(count):
            given = (*arguments, number) if role == "writer" else arguments
            other = module(_beside.__name__, role, *given)
            made.append(Process(await stack.enter_async_context(other)))
        yield made


class Record:
    """What the writers were told: by verb, run and place the values."""

    def __init__(self) -> None:
        self.done: dict[tuple[str, str, str], list[str]] = {}
        self.count = 0
        self.ended = 0

    async def follow(self, writer: Other) -> None:
        for line in await _lines(writer, self._note):
            assert line == "end", line

    def _note(self, line: str) -> bool:
        match line.split():
            case [verb, run_id, place, value]:
                self.done.setdefault((verb, run_id, place), []).append(value)
                self.count += 1
            case ["locked"]:
                pass
            case ["end"]:
                self.ended += 1
            case _:
                return False
        return True

    async def reaches(self, count: int) -> None:
        """Wait until so much was acknowledged."""
        while self.count < count and self.ended == 0:  # noqa: ASYNC110  # other processes
            await anyio.sleep(0.01)

    def values(self, verb: str, run_id: str) -> Mapping[str, str]:
        """What was acknowledged of a run, by its place: once for each."""
        found = {key[2]: values for key, values in self.done.items() if key[:2] == (verb, run_id)}
        assert all(len(values) == 1 for values in found.values()), found
        return {place: value for place, (value,) in found.items()}


async def _lines(other: Other, note: Callable[[str], bool]) -> list[str]:
    odd: list[str] = []
    while True:
        try:
            line = await other.line()
        except (anyio.EndOfStream, anyio.IncompleteRead):
            return odd
        if not note(line):
            odd.append(line)


@dataclass
class Scene:
    """Who takes part: the first owner works, the others may follow it."""

    owners: list[Process]
    holders: list[Process]
    record: Record


Disturbance: TypeAlias = Callable[[Scene], Coroutine[None, None, None]]


async def nothing(_scene: Scene) -> None:
    """The owner lives."""


async def stopped(scene: Scene) -> None:
    for count in (4, 16):
        await scene.record.reaches(count)
        scene.owners[0].send(signal.SIGSTOP)
        await anyio.sleep(0.7)
        scene.owners[0].send(signal.SIGCONT)


async def killed(scene: Scene) -> None:
    for count in (3, 20):
        await scene.record.reaches(count)
        await scene.owners.pop(0).other.kill()
        await scene.owners[0].begin("ready")


async def held(scene: Scene) -> None:
    """Another process holds the write lock and is stopped; the first goes on, the second is killed."""
    for count, holder in zip((4, 14), scene.holders, strict=True):
        await scene.record.reaches(count)
        await holder.begin("holds")
        await anyio.sleep(0.7)
        if holder is scene.holders[0]:
            holder.send(signal.SIGCONT)
            assert await holder.other.rest() == ["end"]
        else:
            await holder.other.kill()


CASES: Mapping[str, tuple[int, float, Disturbance]] = {  # writers, seconds of each third commit
    "lives": (4, 0, nothing),
    "commits slowly": (2, 0.1, nothing),
    "is stopped": (3, 0, stopped),
    "is killed": (3, 0, killed),
    "waits for who holds the lock": (2, 0, held),
}


@pytest.mark.parametrize(("writers", "seconds", "disturb"), CASES.values(), ids=CASES.keys())
async def test_p9_what_other_processes_were_told_is_done_is_acted_on_once(
    tmp_path: Path, writers: int, seconds: float, disturb: Disturbance
) -> None:
    file, record = tmp_path / "runs.db", Record()
    with fail_after(PATIENCE):
        async with (
            processes("owner", 3 if disturb is killed else 1, file, seconds) as owners,
            processes("holder", 2 if disturb is held else 0, file) as holders,
            processes("writer", writers, file) as others,
        ):
            await owners[0].begin("ready")
            async with anyio.create_task_group() as tasks:
                for other in others:
                    await other.begin()
                    tasks.start_soon(record.follow, other.other)
                tasks.start_soon(disturb, Scene(owners, holders, record))
            assert record.ended == writers
            await owners[0].other.kill()
    notes = Counter(notes_of(file).read_text().splitlines())
    async with SqliteStore(file) as store:
        assert await store.verify() == []
        for number in range(RUNS - 1):
            _check_done(record, await store.load(f"r{number}"), notes)
        _check_cancelled(record, await store.load(f"r{RUNS - 1}"), notes)
    assert set(notes.values()) == {1}, "nothing is done twice"


def _check_done(record: Record, found: Snapshot, notes: Counter[str]) -> None:
    """All that was said to a run, and nothing else, is what it has acted on."""
    run_id = found.run.run_id
    assert found.run.status is RunStatus.COMPLETED
    answers, signals = record.values("answer", run_id), record.values("signal", run_id)
    assert sorted(answers) == [f"votes[{item}]/vote" for item in range(VOTES)]
    assert sorted(signals) == ["first/take", "second/take"]
    (settled,) = record.values("settle", run_id).values()
    said = [f"{run_id} {place.removesuffix('/vote')} {value}" for place, value in answers.items()]
    said += [f"{run_id} {place.removesuffix('/take')} {value}" for place, value in signals.items()]
    said += [f"{run_id} paid", f"{run_id} end {settled}"]
    assert sorted(line for line in notes if line.startswith(f"{run_id} ")) == sorted(said)


def _check_cancelled(record: Record, found: Snapshot, notes: Counter[str]) -> None:
    """What it was sent before it was cancelled is stored, and it has not gone on."""
    run_id = found.run.run_id
    assert found.run.status is RunStatus.CANCELLED
    assert record.done["cancel", run_id, "-"], "somebody has cancelled it"
    answers = record.values("answer", run_id)
    stored = {wait.place: wait.value for wait in found.waits if wait.status is WaitStatus.ANSWERED}
    assert stored == {place: value.encode() for place, value in answers.items()}
    assert sorted(line for line in notes if line.startswith(f"{run_id} ")) == sorted(
        f"{run_id} {place.removesuffix('/vote')} {value}" for place, value in answers.items()
    )
