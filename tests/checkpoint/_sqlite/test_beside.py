"""Several processes on one file: what was acknowledged is stored, counts once, and is told until it is heard."""

import os
import signal
from collections import Counter
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from tests.checkpoint._processes import Other, module
from tests.checkpoint._sqlite import _beside
from tests.checkpoint._sqlite._beside import PLACES, RUNS

from stagepost.checkpoint import EffectStatus, SqliteStore, WaitStatus

WRITERS = ("ada", "bob", "eve")


def process(*arguments: object) -> AbstractAsyncContextManager[Other]:
    return module(_beside.__name__, *arguments)


class Record:
    """What the processes have said."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str, str, str]] = []  # who has done what, to which run, where
        self.refused: Counter[str] = Counter()
        self.told: dict[str, int] = {}  # of each run how much of its news an owner was told of
        self.ended = 0

    async def follow(self, name: str, writer: Other) -> None:
        for line in await writer.rest():
            match line.split():
                case ["done", what, run_id, place]:
                    self.done.append((name, what, run_id, place))
                case ["refused", *_, error]:
                    self.refused[error] += 1
                case ["end"]:
                    self.ended += 1

    async def hear(self, owner: Other) -> None:
        while True:
            try:
                _, run_id, news = (await owner.line()).split()
            except (anyio.EndOfStream, anyio.IncompleteRead):
                return
            self.told[run_id] = max(int(news), self.told.get(run_id, 0))


async def disturb(how: str, owner: Other) -> None:
    """Stop the owner for a while, or kill it."""
    await anyio.sleep(0.2)
    if how == "stopped":
        os.kill(owner.process.pid, signal.SIGSTOP)
        await anyio.sleep(1)
        os.kill(owner.process.pid, signal.SIGCONT)
    elif how == "killed":
        await owner.kill()


@pytest.mark.parametrize("how", ["lives", "stopped", "killed", "commits slowly"])
async def test_what_three_processes_write_beside_an_owner_is_stored_and_heard(file: Path, how: str) -> None:
    record = Record()
    with fail_after(120):
        async with process("owner", file, 0.3 if how == "commits slowly" else 0) as owner:
            assert await owner.line() == "ready"
            async with anyio.create_task_group() as hearing:
                hearing.start_soon(record.hear, owner)
                await _write(file, how, owner, record)
                if how != "killed":
                    await _heard_all(file, record)
                    await owner.kill()
        if how == "killed":
            async with process("owner", file, 0) as successor, anyio.create_task_group() as hearing:
                assert await successor.line() == "ready"
                hearing.start_soon(record.hear, successor)
                await _heard_all(file, record)
                await successor.kill()
    await _check(file, record)


async def _write(file: Path, how: str, owner: Other, record: Record) -> None:
    async with AsyncExitStack() as stack:
        writers = {name: await stack.enter_async_context(process("writer", file, name)) for name in WRITERS}
        tasks = await stack.enter_async_context(anyio.create_task_group())
        for writer in writers.values():
            assert await writer.line() == "ready"
        for name, writer in writers.items():
            assert writer.process.stdin is not None
            await writer.process.stdin.send(b"go\n")
            tasks.start_soon(record.follow, name, writer)
        tasks.start_soon(disturb, how, owner)
    assert record.ended == len(WRITERS)


async def _heard_all(file: Path, record: Record) -> None:
    """Wait until an owner was told of all that is stored, and the store knows that."""
    async with SqliteStore.reader(file) as reader:
        while True:
            runs = (await reader.find()).items
            if all(run.heard == run.news <= record.told.get(run.run_id, 0) for run in runs):
                return
            await anyio.sleep(0.01)


async def _check(file: Path, record: Record) -> None:
    assert set(record.refused) <= {"AlreadyAnswered", "EffectNotFound", "RunNotOpen"}
    answers = [(run_id, place) for _, what, run_id, place in record.done if what == "answer"]
    assert len(answers) == len(set(answers)), "the first answer counts"
    async with SqliteStore(file) as store:
        for name, what, run_id, place in record.done:
            snapshot = await store.load(run_id)
            if what == "answer":
                (wait,) = [wait for wait in snapshot.waits if wait.place == place]
                assert (wait.status, wait.value) == (WaitStatus.ANSWERED, _beside.value(name))
            elif what == "signal":
                assert [sent.name for sent in (await store.signals(run_id, limit=1000)).items].count(place) == 1
            elif what == "settle":
                assert [effect[2:4] for effect in snapshot.effects] == [(EffectStatus.DONE, _beside.value(name))]
            else:
                assert snapshot.run.cancelling
        words = Counter(run_id for _, what, run_id, _ in record.done if what != "cancel")
        words[f"run-{RUNS - 1}"] += 1  # cancelled, however often
        assert {run.run_id: run.news for run in (await store.find()).items} == dict(words)
        assert len(answers) >= PLACES * (RUNS - 1)
        changes = store.changes(await store.join("checker"))
        with anyio.move_on_after(0.3):
            pytest.fail(f"{await anext(changes)} was heard")
