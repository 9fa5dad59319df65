"""Several processes on one file: each word that was acknowledged is acted on once, whatever becomes of the owner."""

import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
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


def process(*arguments: object) -> AbstractAsyncContextManager[Other]:
    return module(_beside.__name__, *arguments)


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


class Owner:
    """The process that works on the runs, and those that follow it."""

    def __init__(self, stack: AsyncExitStack, file: Path, seconds: float) -> None:
        self._stack = stack
        self._file = file
        self._seconds = seconds
        self.process: Other

    async def start(self) -> None:
        self.process = await self._stack.enter_async_context(process("owner", self._file, self._seconds))
        assert await self.process.line() == "ready"

    def send(self, number: int) -> None:
        os.kill(self.process.process.pid, number)


Disturbance: TypeAlias = Callable[[Path, Owner, Record], Coroutine[None, None, None]]


async def nothing(_file: Path, _owner: Owner, _record: Record) -> None:
    """The owner lives."""


async def stopped(_file: Path, owner: Owner, record: Record) -> None:
    for count in (4, 16):
        await record.reaches(count)
        owner.send(signal.SIGSTOP)
        await anyio.sleep(0.7)
        owner.send(signal.SIGCONT)


async def killed(_file: Path, owner: Owner, record: Record) -> None:
    for count in (3, 12, 22):
        await record.reaches(count)
        await owner.process.kill()
        await owner.start()


async def held(file: Path, _owner: Owner, record: Record) -> None:
    """Another process holds the write lock and is stopped; the first goes on, the second is killed."""
    for count, lets_go in ((4, True), (14, False)):
        await record.reaches(count)
        async with holding(file) as holder:
            await anyio.sleep(0.7)
            if lets_go:
                os.kill(holder.process.pid, signal.SIGCONT)
                assert await holder.rest() == ["end"]
            else:
                await holder.kill()


@asynccontextmanager
async def holding(file: Path) -> AsyncIterator[Other]:
    async with process("holder", file) as holder:
        assert await holder.line() == "holds"
        yield holder


CASES: Mapping[str, tuple[int, float, Disturbance]] = {
    "lives": (4, 0, nothing),
    "commits slowly": (2, 0.3, nothing),
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
        async with AsyncExitStack() as stack:
            owner = Owner(stack, file, seconds)
            await owner.start()
            others = [await stack.enter_async_context(process("writer", file, number)) for number in range(writers)]
            async with anyio.create_task_group() as tasks:
                for other in others:
                    assert await other.line() == "ready"
                for other in others:
                    assert other.process.stdin is not None
                    await other.process.stdin.send(b"go\n")
                    tasks.start_soon(record.follow, other)
                tasks.start_soon(disturb, file, owner, record)
            assert record.ended == writers
            await owner.process.kill()
    notes = Counter(notes_of(file).read_text().splitlines())
    async with SqliteStore(file) as store:
        assert await store.check() == []
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
