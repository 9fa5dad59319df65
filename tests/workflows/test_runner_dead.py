"""A run that takes its process with it again and again is dead at last, and the others go on."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after
from tests.workflows._crashes import Mortal
from tests.workflows._doors import Door
from tests.workflows._words import Counted, Gate, Store, leave_at, running

from stagepost.checkpoint import Closing, Commit, MemoryStore, Page, RunInfo, RunStatus, SqliteStore
from stagepost.hub import Hub
from stagepost.workflows import Ask, Chain, RunDead, RunFailed, Runner, RunnerStopped, Wait, step

KILLER = """
import os, signal, sys, anyio
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner
from tests.workflows.test_runner_dead import deadly, harmless

def die():
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    work, other = deadly(die), harmless()
    async with SqliteStore(sys.argv[1], durability="process", lock_timeout=5) as store:
        async with Runner(store, workflows=[work, other], max_attempts=2) as runner:
            if sys.argv[2] == "start":
                await (await runner.start(other, run_id="other")).settled()
                await (await runner.start(work, run_id="deadly")).result()
            else:
                await runner.recover()
                await (await runner.get("deadly")).result()

anyio.run(main)
"""


def deadly(die: Callable[[], None]) -> Chain:
    return Chain("deadly", [step("before", lambda _: {"a": 1}), step("die", lambda _: die())])


def harmless() -> Chain:
    return Chain("other", [Wait("ask"), step("after", lambda _: {"done": True})])


async def killed(file: Path, mode: str) -> None:
    """A process that ends as the deadly step says."""
    path = os.pathsep.join(filter(None, [str(Path.cwd()), *sys.path]))
    with fail_after(30):
        process = await anyio.run_process(
            [sys.executable, "-c", KILLER, str(file), mode], check=False, env={**os.environ, "PYTHONPATH": path}
        )
    assert (process.returncode, process.stderr) == (-signal.SIGKILL, b"")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_run_that_kills_its_process_each_time_is_dead_and_the_others_go_on(tmp_path: Path) -> None:
    file, survived = tmp_path / "runs.db", list[bool]()
    for mode in ("start", "recover", "recover"):
        await killed(file, mode)

    def survive() -> None:
        survived.append(True)

    work, other = deadly(survive), harmless()
    async with running(SqliteStore(file), work, other, max_attempts=2) as runner:
        report = await runner.recover()
        assert report.resumed == ()
        assert list(report.dead) == ["deadly"]
        assert str(report.dead["deadly"]) == (
            "run 'deadly' is dead: it was recovered 2 times in a row and got nowhere; "
            "find out what ends the process, then resume() it"
        )
        with pytest.raises(RunDead) as dead:
            await (await runner.get("deadly")).result()
        assert dead.value.attempts == 2
        assert (await runner.recover()).dead == {}  # once is enough
        await runner.answer("other/ask", 1)
        assert (await (await runner.get("other")).result())["done"]
        assert survived == []
        run = await runner.resume("deadly")
        assert (await run.result())["a"] == 1
    assert survived == [True]


async def left_while_running(store: Store, work: Chain, gate: Gate, **options: int) -> None:
    """A process that ends without a commit."""
    async with running(store, work, grace=0, **options) as runner:
        (run,) = (await runner.recover()).resumed
        await gate.entered.wait()
    with pytest.raises(RunnerStopped):
        await run.result()
    gate.entered = anyio.Event()


async def test_attempts_are_counted_and_a_commit_begins_anew(store: Store) -> None:
    first, second = Gate("first"), Gate("second")
    work = Chain("work", [first.step, second.step])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r1")
        await first.entered.wait()
    first.entered = anyio.Event()
    for attempt in (1, 2):
        await left_while_running(store, work, first)
        async with store:
            assert (await store.info("r1")).attempts == attempt
    first.open.set()
    await left_while_running(store, work, second)
    async with store:
        assert (await store.info("r1")).attempts == 0
    await left_while_running(store, work, second)
    async with store:
        assert (await store.info("r1")).attempts == 1


async def test_a_run_that_rests_has_got_somewhere(store: Store) -> None:
    """It is killed before it can park; the next process parks it without any other commit."""
    gate = Gate()
    work = Chain("work", [Wait("ask"), gate.step])
    door = Door(store, "park")
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r1")
        await door.reached.wait()
    door.open.set()
    async with running(store, work, grace=0, max_attempts=1) as runner:
        (run,) = (await runner.recover()).resumed
        assert await run.settled() is RunStatus.WAITING
        assert (await store.info("r1")).attempts == 0
        await runner.answer("r1/ask", 1)
        await gate.entered.wait()
    gate.open.set()
    async with running(store, work, max_attempts=1) as runner:
        (run,) = (await runner.recover()).resumed
        await run.result()


async def test_what_is_committed_behind_news_counts_too(store: Store) -> None:
    """Recovered, the run is about to park when its answer comes: it goes on in the same process."""
    gate = Gate()
    work = Chain("work", [Wait("ask"), gate.step])
    door = Door(store, "park")
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r1")
        await door.reached.wait()
    door.reached = anyio.Event()
    async with running(store, work, grace=0) as runner:
        await runner.recover()
        await door.reached.wait()
        await store.answer("r1", "ask", b"1")
        assert (await store.info("r1")).attempts == 1
        door.open.set()
        await gate.entered.wait()
        assert (await store.info("r1")).attempts == 0


async def test_a_rest_is_no_attempt_that_failed(store: Store) -> None:
    """Answered by a process that dies with it, again and again, yet parked in between by others."""
    counted, mended = Counted(), list[bool]()
    work = Chain("work", [Wait("ask"), counted.fails("b", lambda: bool(mended))])
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r1")).settled()
    for _ in range(7):
        async with running(store, work, max_attempts=1) as runner:
            assert (await runner.recover()).dead == {}
    async with running(store, work, max_attempts=1) as runner:
        await runner.answer("r1/ask", 1)
        with pytest.raises(RunFailed):
            await (await runner.get("r1")).result()


async def test_without_a_limit_no_run_is_dead(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r1")
        await gate.entered.wait()
    gate.entered = anyio.Event()
    for _ in range(7):
        await left_while_running(store, work, gate, max_attempts=None)  # type: ignore[arg-type]  # no limit
    gate.open.set()
    async with running(store, work, max_attempts=None) as runner:
        (run,) = (await runner.recover()).resumed
        await run.result()


async def test_a_run_that_has_not_been_worked_on_for_want_of_a_slot_has_made_no_attempt(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, grace=0, max_running=1) as runner:
        for number in range(3):
            await runner.start(work, run_id=f"r{number}")
        await gate.entered.wait()
    for _ in range(3):
        gate.entered = anyio.Event()
        async with running(store, work, grace=0, max_running=1) as runner:
            await runner.recover()
            await gate.entered.wait()
    async with store:
        assert [(await store.info(f"r{number}")).attempts for number in range(3)] == [3, 0, 0]


async def test_a_child_that_is_dead_fails_the_run_that_asked(store: Store) -> None:
    gate = Gate()
    child = Chain("child", [Wait("ask"), gate.step])
    parent = Chain("parent", [Ask("child", lambda _: {}, name="ask", into="asked")])
    async with Hub(grace=0) as hub, running(store, child, parent, hub=hub, grace=0) as runner:
        await runner.serve(child)
        await (await runner.start(parent, run_id="p1")).settled()
        (wait,) = await runner.waits("p1")
        await runner.answer(wait.id, 1)
        await gate.entered.wait()
    gate.entered = anyio.Event()
    async with running(store, child, grace=0) as runner:
        await runner.recover()
        await gate.entered.wait()
    async with Hub(grace=0) as hub, running(store, child, parent, hub=hub, max_attempts=1) as runner:
        await runner.serve(child)
        report = await runner.recover()
        assert list(report.dead) == [wait.run_id]
        with pytest.raises(RunFailed, match="is dead: it was recovered 1 times in a row"):
            await (await runner.get("p1")).result()


@pytest.mark.parametrize("commits", [1, 2])
async def test_a_run_that_gets_a_little_further_each_time_is_never_dead(commits: int) -> None:
    counted, store = Counted(), Mortal()
    work = Chain("work", [counted.adds(name) for name in "abcdefgh"])
    lives = 0
    while True:
        lives += 1
        store.revive(commits)
        with fail_after(10):
            async with store, Runner(store, workflows=[work], grace=0, max_attempts=1) as runner:
                if lives == 1:
                    await runner.start(work, run_id="r1")
                else:
                    assert (await runner.recover()).dead == {}
                run = await runner.get("r1")
                async with anyio.create_task_group() as group:

                    async def end(scope: anyio.CancelScope = group.cancel_scope) -> None:
                        await run.result()  # noqa: B023  # of this life
                        scope.cancel()

                    group.start_soon(end)
                    await store.dead.wait()
                    group.cancel_scope.cancel()
        if run.status is RunStatus.COMPLETED:
            break
    assert lives > 3
    assert isinstance(store, MemoryStore)


class Hasty(MemoryStore):
    """Whose runs end by themselves as soon as they are listed."""

    async def find(self, **options: Any) -> Page[RunInfo]:
        found = await super().find(**options)
        for info in found.items:
            lease = await self.claim(info.run_id, "somebody")
            await self.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))
        return found


async def test_a_run_that_ends_while_it_is_recovered_is_not_dead() -> None:
    gate, store = Gate(), Hasty()
    work = Chain("work", [gate.step])
    await leave_at(gate, store, work)
    async with store:
        await store.claim("r1", "somebody", recovering=True)
    async with running(store, work, max_attempts=1) as runner:
        report = await runner.recover()
        assert (dict(report.dead), report.resumed, dict(report.left_open)) == ({}, (), {})
        assert (await runner.get("r1")).status is RunStatus.COMPLETED
