"""Leaving a runner: no step starts, those under way get time, and nothing lives on."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio import fail_after
from tests.workflows._words import NOTHING, PATIENCE, Counted, Gate, Recorder, Store, running, until

from stagepost.checkpoint import Lease, MemoryStore, NewRun, Owner, RunInfo, RunStatus
from stagepost.workflows import (
    Chain,
    ItemEnded,
    Parallel,
    Pattern,
    Run,
    RunEnded,
    Runner,
    RunnerStopped,
    State,
    StepStarted,
    step,
)


async def when_leaving(runner: Runner, *actions: Callable[[], object]) -> None:
    """Do things once the runner is being left, one after the other, all others having their turn between."""
    await until(lambda: runner._dispatcher is None)
    for action in actions:
        action()
        await anyio.wait_all_tasks_blocked()


async def left_while_waiting(
    store: Store, workflow: Pattern, gates: list[Gate], *actions: Callable[[], object], observer: Recorder
) -> Run:
    """Start run ``r1``, leave the runner as soon as all gates are entered, act while it is being left."""
    with fail_after(PATIENCE):
        async with anyio.create_task_group() as group, Runner(store, workflows=[workflow], observer=observer) as runner:
            run = await runner.start(workflow, run_id="r1")
            for gate in gates:
                await gate.entered.wait()
            group.start_soon(when_leaving, runner, *actions)
    return run


async def test_steps_under_way_are_saved_and_no_other_is_started(store: Store) -> None:
    gate, counted, recorder = Gate(updates={"gate": 1}), Counted(), Recorder()
    work = Chain("work", [gate.step, counted.adds("b")])
    async with store:
        run = await left_while_waiting(store, work, [gate], gate.open.set, observer=recorder)
        with pytest.raises(RunnerStopped, match=r"before run 'r1' ended: recover\(\) goes on with it") as caught:
            await run.result()
        assert caught.value.run_id == "r1"
        stored = await store.load("r1")
    assert (stored.root.state, stored.root.next) == ({"gate": b"1"}, "b")
    assert (counted.calls, gate.cancelled, run.status) == ([], False, RunStatus.RUNNING)
    assert [event.path for event in recorder.of(StepStarted)] == ["gate"]
    assert [event.status for event in recorder.of(RunEnded)] == ["open"]


async def test_what_takes_longer_than_the_grace_is_cancelled(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, grace=0.01) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
    assert gate.cancelled
    with pytest.raises(RunnerStopped):
        await run.result()


@pytest.mark.parametrize("pattern", [False, True], ids=["plain worker", "pattern"])
async def test_items_under_way_are_saved_and_no_other_is_started(store: Store, pattern: bool) -> None:  # noqa: FBT001  # a parameter of the test
    gates = [Gate(), Gate(), Gate()]

    async def plain(item: int) -> int:
        await gates[item].pass_through(item)
        return item

    async def inside(state: State) -> None:
        await gates[state["item"]].pass_through(state)

    worker = Chain("w", [inside, NOTHING]) if pattern else step("plain", plain)
    work, recorder = Parallel("fan", worker, over=lambda _: range(3), workers=2), Recorder()
    async with store:
        letting = [gates[0].open.set, gates[1].open.set]
        await left_while_waiting(store, work, gates[:2], *letting, observer=recorder)
        stored = await store.load("r1")
    assert [gate.cancelled for gate in gates] == [False] * 3
    assert [gate.calls for gate in gates] == [1, 1, 0]
    if pattern:  # their last step was not to be started
        assert [frame.next for path, frame in sorted(stored.frames.items()) if path] == ["nothing", "nothing"]
    else:
        assert [event.index for event in recorder.of(ItemEnded)] == [0, 1]
    for gate in gates:
        gate.open.set()
    async with running(store, work) as runner:
        assert len((await (await runner.recover()).resumed[0].result())["fan"]) == 3
    assert [gate.calls for gate in gates] == [1, 1, 1]


async def test_an_item_that_was_saved_as_its_neighbour_failed_is_no_cancelled_one(store: Store) -> None:
    """Its last commit ends just when the failure's does: both stand."""
    together = Gate()
    entered = 0

    async def meet(state: State) -> dict[str, object]:
        nonlocal entered
        entered += 1
        if entered == 2:
            together.open.set()
        await together.open.wait()
        if state["item"] == "bad":
            raise ValueError("bad")
        return {"done": True}

    work = Parallel("fan", Chain("w", [meet]), over="n", workers=2)
    for items in (["good", "bad"], ["bad", "good"]):
        entered, together.open = 0, anyio.Event()
        async with running(store, work) as runner:
            run = await runner.start(work, {"n": items}, run_id="-".join(items))
            with pytest.raises(Exception, match="1 of 2 items failed"):
                await run.result()
            assert run.status is RunStatus.FAILED


async def test_an_error_in_the_block_comes_out_as_it_is(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])

    async def fail_in_the_block() -> None:
        async with running(store, work) as runner:
            await runner.start(work)
            await gate.entered.wait()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail_in_the_block()
    assert gate.cancelled  # without a grace


async def test_cancelling_the_block_cancels_what_runs(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    with fail_after(PATIENCE):
        with anyio.CancelScope() as scope:
            async with store, Runner(store, workflows=[work]) as runner:
                run = await runner.start(work)
                await gate.entered.wait()
                scope.cancel()
                await anyio.sleep_forever()
        assert gate.cancelled
        with pytest.raises(RunnerStopped):
            await run.result()


async def test_a_runner_can_be_entered_again(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    with fail_after(PATIENCE):
        async with store:
            runner = Runner(store, workflows=[work], grace=0)
            async with runner:
                await runner.start(work)
                await gate.entered.wait()
            gate.open.set()
            async with runner:
                (run,) = (await runner.recover()).resumed
                await run.result()


class Slow(MemoryStore):
    """Waits before it stores or claims a run, and can be cancelled while it waits."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.gate = gate

    async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
        await self.gate.pass_through(None)
        return await super().create(run)

    async def claim(self, owner: Owner, run_id: str, **options: Any) -> Lease:
        await self.gate.pass_through(None)
        return await super().claim(owner, run_id, **options)


async def failure_of(call: Callable[[], object], into: list[str]) -> None:
    try:
        await call()  # type: ignore[misc]  # any awaitable
    except Exception as error:  # noqa: BLE001  # whatever it is
        into.append(type(error).__name__)


async def test_a_run_that_is_stored_while_the_runner_is_left_does_not_start() -> None:
    gate, counted, failures = Gate(), Counted(), list[str]()
    store, work = Slow(gate), Chain("work", [counted.adds("a")])
    with fail_after(PATIENCE):
        async with store, anyio.create_task_group() as group:
            async with Runner(store, workflows=[work]) as runner:
                group.start_soon(failure_of, lambda: started_and_ended(runner, work), failures)
                await gate.entered.wait()
                group.start_soon(when_leaving, runner, gate.open.set)
            assert (await store.load("r1")).run.status is RunStatus.RUNNING
    assert (counted.calls, failures) == ([], ["RunnerStopped"])


async def started_and_ended(runner: Runner, work: Pattern) -> None:
    await (await runner.start(work, run_id="r1")).result()


async def test_whoever_starts_a_run_hears_that_the_runner_was_left() -> None:
    gate, failures = Gate(), list[str]()
    store, work = Slow(gate), Chain("work", [NOTHING])
    with fail_after(PATIENCE):
        async with store, anyio.create_task_group() as group, Runner(store, workflows=[work], grace=0) as runner:
            group.start_soon(failure_of, lambda: runner.start(work, run_id="r1"), failures)
            await gate.entered.wait()
    assert failures == ["RunnerStopped"]


async def test_a_claim_that_comes_late_is_not_worked_on() -> None:
    first, counted, failures = Gate(), Counted(), list[str]()
    work, gate = Chain("work", [first.step, counted.adds("a")]), Gate()
    gate.open.set()
    store = Slow(gate)
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r1")
        await first.entered.wait()
    store.gate = late = Gate()
    with fail_after(PATIENCE):
        async with store, anyio.create_task_group() as group:
            async with Runner(store, workflows=[work], grace=0) as runner:
                group.start_soon(failure_of, lambda: runner.resume("r1"), failures)
                await late.entered.wait()
            late.open.set()
    assert (failures, counted.calls) == (["RunnerStopped"], [])
