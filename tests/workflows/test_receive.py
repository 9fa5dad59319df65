"""Signals: kept until a step receives them, each received once."""

from collections.abc import Mapping
from datetime import timedelta

import pytest
from pydantic import BaseModel
from tests.workflows._doors import Clock
from tests.workflows._words import NOTHING, Counted, Gate, Store, running

from stagepost.checkpoint import CannotStore, RunNotFound, RunNotOpen, RunStatus, WaitKind, WaitNotFound
from stagepost.workflows import (
    Chain,
    ChainError,
    DefinitionError,
    Graph,
    Parallel,
    Receive,
    RunFailed,
    RunnerRequired,
    State,
    UnknownSignal,
    UnknownWorkflow,
    step,
)


class Payment(BaseModel):
    amount: int


async def test_a_signal_reaches_the_step_that_waits_for_it(store: Store) -> None:
    work = Chain("work", [Receive("paid", expect=Payment), NOTHING])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        assert await run.settled() is RunStatus.WAITING
        (wait,) = await runner.waits()
        assert (wait.id, wait.kind, wait.name) == ("r1/paid", WaitKind.SIGNAL, "paid")
        assert await runner.signal("r1", "paid", Payment(amount=3))
        assert (await run.result())["paid"] == Payment(amount=3)


async def test_signals_that_came_before_are_kept_in_their_order(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step, Receive("one", signal="paid"), Receive("two", signal="paid", into="second")])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        for amount in (1, 2, 3):
            assert await runner.signal("r1", "paid", amount)
        gate.open.set()
        result = await run.result()
    assert (result["one"], result["second"]) == (1, 2)


async def test_signals_are_kept_over_a_restart(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step, Receive("paid"), Receive("more", signal="paid")])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r1")
        await gate.entered.wait()
        await runner.signal("r1", "paid", "first")
    gate.open.set()
    async with running(store, work) as runner:
        (run,) = (await runner.recover()).resumed
        assert await run.settled() is RunStatus.WAITING
        assert run.waits == ("r1/more",)
    async with running(store, work) as runner:
        await runner.signal("r1", "paid", "second")
        result = await (await runner.get("r1")).result()
    assert (result["paid"], result["more"]) == ("first", "second")


async def test_a_signal_that_is_sent_twice_is_taken_once(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step, Receive("one", signal="paid"), Receive("two", signal="paid")])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        assert await runner.signal("r1", "paid", 1, dedup="a")
        assert not await runner.signal("r1", "paid", 99, dedup="a")
        gate.open.set()
        assert await run.settled() is RunStatus.WAITING
        assert not await runner.signal("r1", "paid", 99, dedup="a")  # also when it has been received
        assert await run.settled() is RunStatus.WAITING
        assert run.waits == ("r1/two",)
        assert await runner.signal("r1", "paid", 2, dedup="b")
        result = await run.result()
    assert (result["one"], result["two"]) == (1, 2)


async def test_what_no_step_receives_is_refused(store: Store) -> None:
    inner = Chain("item", [Receive("inner")])
    work = Chain("work", [Receive("paid"), Parallel("fan", inner, over="items")])
    plain = Chain("plain", [Gate().step])
    async with running(store, work, plain, grace=0) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        with pytest.raises(UnknownSignal, match="receives no signal 'pays'; its workflow receives: inner, paid") as no:
            await runner.signal("r1", "pays")
        assert (no.value.run_id, no.value.name, set(no.value.known)) == ("r1", "pays", {"paid", "inner"})
        await runner.start(plain, run_id="r2")
        with pytest.raises(UnknownSignal, match="receives: none"):
            await runner.signal("r2", "paid")
        with pytest.raises(RunNotFound):
            await runner.signal("r3", "paid")
        with pytest.raises(WaitNotFound):
            await runner.answer("r1/paid", 1)  # it waits for no answer


async def test_a_signal_of_the_wrong_type_is_refused_and_the_step_waits_on(store: Store) -> None:
    work = Chain("work", [Receive("paid", expect=Payment)])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        with pytest.raises(CannotStore, match="signal 'paid' to run 'r1'"):
            await runner.signal("r1", "paid", {"amount": "much"}, dedup="a")
        assert run.waits == ("r1/paid",)
        assert await runner.signal("r1", "paid", {"amount": 3}, dedup="a")  # the refused one does not count
        assert (await run.result())["paid"] == Payment(amount=3)


async def test_a_run_that_has_ended_takes_no_signals(store: Store) -> None:
    work = Chain("work", [Receive("paid")])
    async with running(store, work) as runner:
        for run_id in ("r1", "r2"):
            await (await runner.start(work, run_id=run_id)).settled()
        await runner.signal("r1", "paid", 1)
        await (await runner.get("r1")).result()
        await runner.cancel("r2")
        for run_id in ("r1", "r2"):
            with pytest.raises(RunNotOpen):
                await runner.signal(run_id, "paid", 2)


async def test_a_runner_without_the_workflow_says_so(store: Store) -> None:
    work = Chain("work", [Receive("paid")])
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r1")).settled()
    async with running(store) as stranger:
        with pytest.raises(UnknownWorkflow):
            await stranger.signal("r1", "paid", 1)


async def test_two_steps_that_wait_for_one_signal_get_one_each(store: Store) -> None:
    fan = Parallel("fan", Receive("paid", expect=int), over="items")
    work = Chain("work", [fan])
    async with running(store, work) as runner:
        run = await runner.start(work, {"items": ["a", "b", "c"]}, run_id="r1")
        assert await run.settled() is RunStatus.WAITING
        assert run.waits == ("r1/fan[0]", "r1/fan[1]", "r1/fan[2]")
        for amount in (1, 2, 3):
            await runner.signal("r1", "paid", amount)
        assert sorted((await run.result())["fan"]) == [1, 2, 3]


async def test_each_visit_of_a_cycle_receives_a_signal_of_its_own(store: Store) -> None:
    def add(state: State) -> Mapping[str, object]:
        return {"sum": state.get("sum", 0) + state["paid"]}

    graph = Graph("graph")
    graph.add("paid", Receive("paid", expect=int))
    graph.add("add", step("add", add, inline=True))
    graph.add("end", NOTHING)
    graph.edge("paid", "add")
    graph.edge("add", "end", when=lambda state: state["sum"] >= 6)
    graph.edge("add", "paid")
    graph.start("paid")
    graph.finish("end")
    async with running(store, graph) as runner:
        run = await runner.start(graph, run_id="r1")
        for amount in (1, 2, 3):
            assert await runner.signal("r1", "paid", amount)
        assert (await run.result())["sum"] == 6


@pytest.mark.parametrize(
    "other",
    [
        Receive("later", signal="paid", expect=int),
        Parallel("fan", Receive("later", signal="paid"), over="items"),
        Parallel("fan", Chain("item", [Receive("later", signal="paid", expect=str)]), over="items"),
    ],
    ids=["step", "worker", "in an item"],
)
async def test_one_signal_with_two_types_is_refused(store: Store, other: object) -> None:
    work = Chain("work", [Receive("paid", expect=Payment), other])  # type: ignore[list-item]  # of either kind
    with pytest.raises(DefinitionError, match="expects another type of signal 'paid' than a step before it"):
        async with running(store, work) as runner:
            await runner.start(work)


async def test_when_the_time_is_up_otherwise_is_the_value_and_a_late_signal_is_kept(store: Store) -> None:
    clock = Clock()
    first = Receive("first", signal="paid", expect=int, within=60, otherwise=-1)
    work = Chain("work", [first, Receive("second", signal="paid", expect=int)])
    async with running(store, work, clock=clock) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        clock.pass_(timedelta(minutes=2))
        await runner.recover()
        assert await run.settled() is RunStatus.WAITING
        assert run.waits == ("r1/second",)
        await runner.signal("r1", "paid", 5)
        result = await run.result()
    assert (result["first"], result["second"]) == (-1, 5)


async def test_without_otherwise_the_time_is_a_failure(store: Store) -> None:
    clock = Clock()
    work = Chain("work", [Receive("paid", within=60)])
    async with running(store, work, clock=clock) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        clock.pass_(timedelta(minutes=2))
        await runner.recover()
        with pytest.raises(RunFailed, match="nobody answered 'paid' by"):
            await run.result()
        again = await runner.resume("r1")
        assert await again.settled() is RunStatus.WAITING
        await runner.signal("r1", "paid", 5)
        assert (await again.result())["paid"] == 5


async def test_a_signal_goes_to_the_run_that_it_is_sent_to(store: Store) -> None:
    counted = Counted()
    work = Chain("work", [Receive("paid"), counted.adds("after")])
    async with running(store, work) as runner:
        runs = [await runner.start(work, run_id=f"r{number}") for number in range(3)]
        for run in runs:
            await run.settled()
        await runner.signal("r1", "paid", 1)
        await runs[1].result()
        assert [run.status for run in runs] == [RunStatus.WAITING, RunStatus.COMPLETED, RunStatus.WAITING]
    assert counted.calls == ["after"]


async def test_a_run_in_memory_cannot_receive() -> None:
    with pytest.raises(ChainError) as failed:
        await Chain("work", [Receive("paid")]).run()
    assert isinstance(failed.value.__cause__, RunnerRequired)


def test_a_signal_has_a_name() -> None:
    with pytest.raises(ValueError, match="signal name"):
        Receive("paid", signal="no name")
