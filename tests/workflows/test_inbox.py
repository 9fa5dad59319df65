"""Other processes answer, signal, settle and cancel beside the owner of a file, and the owner goes on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after
from tests.checkpoint._processes import running as started
from tests.workflows._other_process import Outsider, outsider
from tests.workflows._waiting_inbox import Decision, asked
from tests.workflows._words import Counted, Gate, running

from stagepost.checkpoint import AlreadyAnswered, CannotStore, MemoryStore, RunStatus, SqliteStore, StoreReader
from stagepost.workflows import Chain, Inbox, RunCancelled, Runner, UnknownSignal, UnknownWorkflow, Wait

SLOW = 60  # seconds: several interpreters start


pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@asynccontextmanager
async def owned(file: Path, *workflows: Chain, **options: Any) -> AsyncIterator[Runner]:
    with fail_after(SLOW):
        async with SqliteStore(file) as store, Runner(store, workflows=workflows, **options) as runner:
            yield runner


async def waits_of(runner: Runner, run_id: str, number: int) -> tuple[str, ...]:
    while len(waits := await runner.waits(run_id)) < number:  # noqa: ASYNC110  # another process
        await anyio.sleep(0.01)
    return tuple(wait.id for wait in waits)


async def go_through(runner: Runner, others: list[Outsider], run_id: str) -> None:
    """Each wait of a run is ended by one of the others, in turn."""
    await waits_of(runner, run_id, 1)
    assert await others[0].say("answer", f"{run_id}/ask", {"ok": True}, by="Ada") == "ok"
    for number, wait in enumerate(await waits_of(runner, run_id, 3)):
        assert await others[number % len(others)].say("answer", wait, number) == "ok"
    await waits_of(runner, run_id, 1)
    assert await others[-1].say("signal", run_id, "sign", {"n": 7}) == "ok"
    await waits_of(runner, run_id, 1)
    while (answer := await others[0].say("settle", run_id, "pay", value="receipt")) == "EffectNotFound":  # noqa: ASYNC110  # another process
        await anyio.sleep(0.01)
    assert answer == "ok"


@pytest.mark.parametrize("knows", ["checked", "plain"])
@pytest.mark.parametrize("number", [1, 3])
async def test_p9_other_processes_end_each_wait_of_a_run(tmp_path: Path, number: int, knows: str) -> None:
    file = tmp_path / "runs.db"
    async with owned(file, work := asked()) as runner:
        run = await runner.start(work, {"items": [0, 1, 2]}, run_id="r1")
        async with anyio.create_task_group() as group:
            others = [await _entered(group, file, knows) for _ in range(number)]
            await go_through(runner, others, "r1")
            result = await run.result()
            group.cancel_scope.cancel()
    assert (result["ask"], result["fan"], result["sign"].n, result["paid"]) == (
        Decision(ok=True),
        [0, 1, 2],
        7,
        "receipt",
    )


async def _entered(group: Any, file: Path, knows: str) -> Outsider:
    async def hold(*, task_status: anyio.abc.TaskStatus[Outsider]) -> None:
        async with outsider(file, knows) as other:
            task_status.started(other)
            await anyio.sleep_forever()

    entered: Outsider = await group.start(hold)
    return entered


async def test_p9_of_the_answers_of_several_processes_one_counts(tmp_path: Path) -> None:
    file, counted = tmp_path / "runs.db", Counted()
    work = Chain("asked", [Wait("ask", expect=Decision), counted.adds("after")])
    async with owned(file, work) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        async with outsider(file) as first, outsider(file) as second:
            said: list[str] = []

            async def answer(other: Outsider, ok: bool) -> None:  # noqa: FBT001  # start_soon knows no keywords
                said.append(await other.say("answer", "r1/ask", {"ok": ok}))

            async with anyio.create_task_group() as group:
                group.start_soon(answer, first, True)
                group.start_soon(answer, second, False)
            await run.result()
    assert said.count("ok") == 1
    assert set(said) - {"ok"} <= {"AlreadyAnswered", "WaitNotFound", "RunNotOpen"}
    assert counted.calls == ["after"]


async def test_p9_an_answer_that_comes_while_nobody_owns_the_file_counts_for_the_next_owner(tmp_path: Path) -> None:
    """Nobody owns the file: the answer is stored, and the next owner goes on with it."""
    file = tmp_path / "runs.db"
    work = Chain("asked", [Wait("ask", expect=Decision)])
    async with owned(file, work) as runner:
        await (await runner.start(work, run_id="r1")).settled()
    with fail_after(SLOW):
        async with outsider(file, "plain") as other:
            assert await other.say("answer", "r1/ask", {"ok": True}) == "ok"
            assert await other.say("answer", "r1/ask", {"ok": False}) in ("AlreadyAnswered", "WaitNotFound")
    async with owned(file, work) as runner:
        (run,) = (await runner.recover()).resumed
        assert (await run.result())["ask"].ok


async def test_p9_another_process_cancels_what_is_executed_with_all_below(tmp_path: Path) -> None:
    file, gate = tmp_path / "runs.db", Gate()
    work = Chain("asked", [gate.step])
    async with owned(file, work) as runner:
        busy = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        async with outsider(file, "plain") as other:
            assert await other.say("cancel", "r1") == "ok"
            with pytest.raises(RunCancelled):
                await busy.result()
            assert await other.say("cancel", "r1") == "RunNotOpen"
        assert gate.cancelled


@pytest.mark.parametrize("slots", [1, 100])
async def test_p9_another_process_cancels_what_is_parked_also_without_a_slot(tmp_path: Path, slots: int) -> None:
    file, gate = tmp_path / "runs.db", Gate()
    work, busy = Chain("asked", [Wait("ask")]), Chain("busy", [gate.step])
    async with owned(file, work, busy, max_running=slots) as runner:
        parked = await runner.start(work, run_id="r1")
        await parked.settled()
        await runner.start(busy)
        await gate.entered.wait()
        async with outsider(file, "plain") as other:
            assert await other.say("cancel", "r1") == "ok"
            with pytest.raises(RunCancelled):
                await parked.result()
        gate.open.set()


async def test_what_does_not_fit_and_nobody_has_checked_is_dropped_and_the_wait_is_open_again(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    async with owned(file, work := asked()) as runner:
        run = await runner.start(work, {"items": [0]}, run_id="r1")
        await run.settled()
        async with outsider(file, "plain") as other:
            assert await other.say("answer", "r1/ask", "maybe") == "ok"
            while not (found := await runner.waits("r1")) or found[0].refused is None:  # noqa: ASYNC110  # another process
                await anyio.sleep(0.01)
            (wait,) = found
            assert wait.refused is not None
            assert (wait.id, wait.blocked) == ("r1/ask", None)
            assert "Decision" in wait.refused
            assert await other.say("answer", "r1/ask", {"ok": True}) == "ok"
            (vote,) = await waits_of(runner, "r1", 1)
            while "vote" not in vote:
                (vote,) = await waits_of(runner, "r1", 1)
            assert await other.say("signal", "r1", "sign", "no number") == "ok"
            assert await other.say("answer", vote, 3) == "ok"
            assert await other.say("signal", "r1", "sign", {"n": 4}) == "ok"
            while (answer := await other.say("settle", "r1", "pay", value="receipt")) == "EffectNotFound":  # noqa: ASYNC110  # another process
                await anyio.sleep(0.01)
            assert answer == "ok"
        result = await run.result()
    assert (result["ask"].ok, result["fan"], result["sign"].n) == (True, [3], 4)


async def test_with_the_definitions_another_process_refuses_what_the_runner_would_refuse(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    async with owned(file, work := asked()) as runner:
        run = await runner.start(work, {"items": [0]}, run_id="r1")
        await run.settled()
        async with outsider(file) as other:
            assert await other.say("answer", "r1/ask", "maybe") == "CannotStore"
            assert await other.say("answer", "r1/asks", {"ok": True}) == "WaitNotFound"
            assert await other.say("signal", "r1", "sing", 1) == "UnknownSignal"
            assert await other.say("signal", "r1", "sign", "text") == "CannotStore"
            assert await other.say("answer", "r1/ask", {"ok": True}, by="sk-live-4711") == "CannotStore"
            assert await other.say("answer", "r2/ask", {"ok": True}) == "RunNotFound"
        assert run.status is RunStatus.WAITING


async def test_an_inbox_of_this_process_is_told_at_once() -> None:
    store, work = MemoryStore(), asked()
    async with running(store, work) as runner:
        run = await runner.start(work, {"items": []}, run_id="r1")
        await run.settled()
        inbox = Inbox(store, workflows=[work])
        with pytest.raises(CannotStore):
            await inbox.answer("r1/ask", "maybe")
        with pytest.raises(UnknownSignal):
            await inbox.signal("r1", "sing")
        await inbox.answer("r1/ask", {"ok": True})
        await inbox.signal("r1", "sign", {"n": 1})
        while not await inbox.waits("r1"):
            await anyio.lowlevel.checkpoint()
        with pytest.raises((AlreadyAnswered, LookupError)):
            await inbox.answer("r1/ask", {"ok": True})
        await inbox.cancel("r1")
        with pytest.raises(RunCancelled):
            await run.result()
        await (await runner.start(work, {"items": []}, run_id="r2")).settled()
        with pytest.raises(UnknownWorkflow):
            await Inbox(store, workflows=[Chain("other", [Wait("ask")])]).answer("r2/ask", {"ok": True})


async def test_p9_the_owner_is_killed_while_others_answer_and_the_next_one_ends_all(tmp_path: Path) -> None:
    """The owner works in a process of its own, which is killed after each few answers."""
    file = tmp_path / "runs.db"
    names = [f"r{number}" for number in range(6)]
    async with owned(file, work := asked()) as runner:
        for name in names:
            await (await runner.start(work, {"items": [0, 1]}, run_id=name)).settled()
    with fail_after(SLOW):
        async with outsider(file, "plain") as other, SqliteStore.reader(file) as reader:
            while (await reader.waits(limit=1)).items:
                async with started(OWNER, file) as owner:
                    assert await owner.line() == "recovered"
                    await _end_all(other, reader)
                    await anyio.sleep(0.2)  # it hears of some of that
                    await owner.kill()
            async with owned(file, work) as runner, anyio.create_task_group() as group:
                await runner.recover()
                group.start_soon(_keep_on, other, reader)  # a run may have been killed before it could wait again
                for name in names:
                    result = await (await runner.get(name)).result()
                    got = (result["ask"].ok, result["fan"], result["sign"].n, result["paid"])
                    assert got == (True, [5, 5], 5, "receipt")
                group.cancel_scope.cancel()


async def _end_all(other: Outsider, reader: StoreReader) -> None:
    for wait in (await reader.waits(limit=1000)).items:
        await _end(other, wait)


async def _keep_on(other: Outsider, reader: StoreReader) -> None:
    while True:
        await _end_all(other, reader)
        await anyio.sleep(0.01)


OWNER = """
import sys, anyio
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner
from tests.workflows._waiting_inbox import asked

async def main():
    store = SqliteStore(sys.argv[1], lock_timeout=20)
    async with store, Runner(store, workflows=[asked()], max_attempts=None) as runner:
        await runner.recover()
        print("recovered", flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


async def _end(other: Outsider, found: Any) -> None:
    wait, run_id = found.wait, found.run_id
    match wait.kind:
        case "answer":
            value: object = {"ok": True} if wait.place == "ask" else 5
            answer = await other.say("answer", f"{run_id}/{wait.place}", value)
        case "signal":
            answer = await other.say("signal", run_id, wait.name, {"n": 5})
        case _:
            answer = await other.say("settle", run_id, wait.name, value="receipt")
    assert answer in ("ok", "AlreadyAnswered", "WaitNotFound", "EffectNotFound", "RunNotOpen")
