"""How many runs are worked on at once, in which order, and who passes by."""

import gc
import tracemalloc
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from tests.workflows._doors import Door
from tests.workflows._words import NOTHING, PATIENCE, Counted, Gate, Store, running

from stagepost.checkpoint import MemoryStore, RunStatus
from stagepost.hub import HandlerFailed, Hub
from stagepost.workflows import Ask, Chain, Pattern, Runner, RunnerStopped, RunParked, State, Wait, step


class Meter:
    """Steps that note how many of them run at once, and in which order they began."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self.most = 0
        self._now = 0

    async def measure(self, state: State) -> Mapping[str, object]:
        self.order.append(state["n"])
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
        finally:
            self._now -= 1
        return {}


@asynccontextmanager
async def serving(store: Store, *workflows: Pattern, **options: Any) -> AsyncIterator[tuple[Hub, Runner]]:
    async with Hub(grace=0) as hub, running(store, hub=hub, **options) as runner:
        for workflow in workflows:
            await runner.serve(workflow)
        yield hub, runner


async def test_no_more_run_at_once_and_the_others_in_their_order(store: Store) -> None:
    meter = Meter()
    work = Chain("work", [step("measure", meter.measure), NOTHING])
    async with running(store, work, max_running=2) as runner:
        runs = [await runner.start(work, {"n": number}) for number in range(10)]
        for run in runs:
            await run.result()
    assert meter.most <= 2
    assert all(abs(number - place) <= 1 for place, number in enumerate(meter.order))  # two of them start at once


async def test_as_many_as_there_are_slots_run_at_once(store: Store) -> None:
    gates = [Gate() for _ in range(3)]
    works = [Chain(f"w{number}", [gate.step]) for number, gate in enumerate(gates)]
    async with running(store, *works, max_running=2) as runner:
        runs = [await runner.start(work) for work in works]
        for gate in gates[:2]:
            await gate.entered.wait()
        await anyio.wait_all_tasks_blocked()
        assert not gates[2].entered.is_set()
        gates[1].open.set()
        await gates[2].entered.wait()
        assert not gates[0].open.is_set()
        for gate in gates:
            gate.open.set()
        for run in runs:
            await run.result()


async def test_without_a_limit_all_run(store: Store) -> None:
    gates = [Gate() for _ in range(5)]
    works = [Chain(f"w{number}", [gate.step]) for number, gate in enumerate(gates)]
    async with running(store, *works, max_running=None) as runner:
        runs = [await runner.start(work) for work in works]
        for gate in gates:
            await gate.entered.wait()
        for gate in gates:
            gate.open.set()
        for run in runs:
            await run.result()


def test_less_than_one_is_refused() -> None:
    with pytest.raises(ValueError, match="max_running=0: give at least 1, or None for no limit"):
        Runner(MemoryStore(), max_running=0)


async def test_a_run_in_line_is_on_disk_already_and_its_handle_is_the_run_itself(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, max_running=1) as runner:
        first = await runner.start(work, run_id="r1")
        second = await runner.start(work, run_id="r2")
        assert (await store.info("r2")).status is RunStatus.RUNNING
        assert (await runner.start(work, run_id="r2")).id == "r2"
        assert (await runner.get("r2")).status is RunStatus.RUNNING
        assert (await runner.recover()).resumed == ()
        await gate.entered.wait()
        gate.open.set()
        await first.result()
        await second.result()
        assert gate.calls == 2


async def test_a_parked_run_frees_its_slot_and_stands_in_line_when_it_goes_on(store: Store) -> None:
    gate, counted = Gate(), Counted()
    parks = Chain("parks", [Wait("ask"), counted.adds("after")])
    works = Chain("works", [gate.step])
    async with running(store, parks, works, max_running=1) as runner:
        parked = [await runner.start(parks, run_id=f"p{number}") for number in range(3)]
        for run in parked:
            assert await run.settled() is RunStatus.WAITING
        busy = await runner.start(works, run_id="w1")
        await gate.entered.wait()
        for run in parked:
            await runner.answer(run.waits[0], run.id)
        await anyio.wait_all_tasks_blocked()
        assert counted.calls == []
        gate.open.set()
        await busy.result()
        for run in parked:
            await run.result()
    assert counted.calls == ["after"] * 3


async def test_parents_that_ask_children_cannot_lock_each_other_out(store: Store) -> None:
    """Each parent has the one slot, or waits for it, and its child needs none."""
    child = Chain("child", [NOTHING, step("double", lambda state: {"twice": 2 * state["n"]}, inline=True)])
    parent = Chain("parent", [Ask("child", lambda state: {"n": state["n"]}, name="ask", into="asked")])
    count = 100 if isinstance(store, MemoryStore) else 20
    async with serving(store, child, parent, max_running=1) as (_, runner):
        runs = [await runner.start(parent, {"n": number}) for number in range(count)]
        assert [(await run.result())["asked"]["twice"] for run in runs] == [2 * number for number in range(count)]


async def test_a_child_in_line_passes_by_for_whoever_asks_for_it(store: Store) -> None:
    """It had parked and was answered, so it waits for a slot; the run that asks for it has the only one."""
    gate = Gate()
    child = Chain("child", [Wait("ask"), NOTHING])
    headers = {"idempotency-key": "k"}

    async def ask(state: State, context: Any) -> Mapping[str, object]:
        await gate.pass_through(state)
        reply = await context.hub.request("child", {}, expect=State, headers=headers)
        return {"heard": reply["ask"]}

    parent = Chain("parent", [ask])
    async with serving(store, child, parent, max_running=1) as (hub, runner):
        with pytest.raises(HandlerFailed) as failed:
            await hub.request("child", {}, headers=headers)
        assert isinstance(failed.value.cause, RunParked)
        run = await runner.start(parent, run_id="p1")
        await gate.entered.wait()
        await runner.answer(failed.value.cause.waits[0], "yes")
        await anyio.wait_all_tasks_blocked()
        assert (await runner.get(failed.value.cause.run_id)).status is RunStatus.RUNNING
        gate.open.set()
        assert (await run.result())["heard"] == "yes"


async def test_recovered_runs_stand_in_line_in_their_order(store: Store) -> None:
    gate, meter = Gate(), Meter()
    work = Chain("work", [gate.step, step("measure", meter.measure)])
    async with running(store, work, grace=0, max_running=3) as runner:
        for number in range(10):
            await runner.start(work, {"n": number}, run_id=f"r{number}")
    gate.open.set()
    async with running(store, work, max_running=2) as runner:
        report = await runner.recover()
        assert [run.id for run in report.resumed] == [f"r{number}" for number in range(10)]
        assert (await runner.recover()).resumed == ()
        for run in report.resumed:
            await run.result()
    assert meter.most <= 2
    assert all(abs(number - place) <= 1 for place, number in enumerate(meter.order))


async def test_leaving_tells_those_in_line(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, grace=0, max_running=1) as runner:
        runs = [await runner.start(work) for _ in range(3)]
        await gate.entered.wait()
    for run in runs:
        with pytest.raises(RunnerStopped):
            await run.result()
    assert gate.calls == 1


async def test_whoever_comes_while_the_runner_is_left_is_told(store: Store) -> None:
    """The line is closed; a run that joined it now would wait for ever."""
    gate, told = Gate(), list[str]()
    work, busy = Chain("work", [Gate().step]), Chain("busy", [gate.step])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r2")

    async def attach(runner: Runner) -> None:
        try:
            await (await runner.start(work, run_id="r2")).result()
        except RunnerStopped as stopped:
            told.append(stopped.run_id)

    with anyio.fail_after(PATIENCE):
        async with store, anyio.create_task_group() as group:
            async with Runner(store, workflows=[work, busy], grace=0, max_running=1) as runner:
                await runner.start(busy, run_id="r1")
                await gate.entered.wait()
                door = Door(store, "load", behind=True)
                group.start_soon(attach, runner)
                await door.reached.wait()
            door.open.set()
    assert told == ["r2"]


async def test_a_run_in_line_can_be_cancelled(store: Store) -> None:
    gate, counted = Gate(), Counted()
    work, other = Chain("work", [gate.step]), Chain("other", [counted.adds("a")])
    async with running(store, work, other, max_running=1) as runner:
        first = await runner.start(work)
        second = await runner.start(other, run_id="r2")
        third = await runner.start(other, run_id="r3")
        await gate.entered.wait()
        await runner.cancel("r2")
        assert second.status is RunStatus.CANCELLED
        gate.open.set()
        await first.result()
        await third.result()
    assert counted.calls == ["a"]


async def memory_of_recovering(count: int, size: int) -> tuple[int, int]:
    """Bytes that a runner holds per run behind `recover`, all but one in line, and at most while it recovers."""
    gate = Gate()
    work = Chain("work", [gate.step])
    store = MemoryStore()
    async with running(store, work, grace=0, max_running=1) as runner:
        for number in range(count):
            await runner.start(work, {"text": "x" * size, "n": number}, run_id=f"r{number:06}")
    async with store, Runner(store, workflows=[work], grace=0, max_running=1) as runner:
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        report = await runner.recover()
        gc.collect()
        after, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(report.resumed) == count
    return (after - before) // count, peak - before


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_recovering_holds_no_states_in_memory() -> None:
    held, peak = await memory_of_recovering(count=1_500, size=10_000)
    assert held < 3_000  # its handle, its id and its place in line
    assert peak < 2.5 * 200 * 10_000 + 1_500 * 3_000  # two pages of runs, and what is held


@pytest.mark.long
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_ten_thousand_open_runs_are_recovered_in_bounded_memory() -> None:
    with anyio.fail_after(60 * PATIENCE):
        held, peak = await memory_of_recovering(count=10_000, size=10_000)
    print(f"10,000 open runs: {held} bytes held each, {peak / 1e6:.1f} MB at most")  # noqa: T201  # the figure that is published
    assert held < 3_000
    assert peak < 40_000_000
