"""Limits: never more at once or per minute, in their order, and nobody held up whom they do not concern."""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.workflows._doors import Clock
from tests.workflows._words import NOTHING, Counted, Gate, Store, dying, running, until

from stagepost.checkpoint import MemoryStore, RunStatus
from stagepost.workflows import Chain, Parallel, Pattern, RunLimit, RunnerConfig, Sleep, State, StepContext, Wait, step


class Meter:
    """Steps that note which runs they work for at once."""

    def __init__(self) -> None:
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.order: list[int] = []

    async def measure(self, state: State) -> Mapping[str, object]:
        self.order.append(state.get("n", 0))
        kinds = state.get("kinds", ["all"])
        self.now.update(kinds)
        for kind in kinds:
            self.most[kind] = max(self.most[kind], self.now[kind])
        try:
            for _ in range(state.get("turns", 3)):
                await checkpoint()
        finally:
            self.now.subtract(kinds)
        return {}


async def some_turns() -> None:
    for _ in range(20):
        await checkpoint()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"at_once": 1}, "give workflow=, label= or both"),
        ({"workflow": "a"}, "give at_once=, per_minute= or both"),
        ({"workflow": "a", "at_once": 0}, "at_once=0: give at least 1"),
        ({"workflow": "a", "value": "x", "at_once": 1}, "value='x' is a label's"),
    ],
    ids=["of all", "of nothing", "zero", "value"],
)
def test_a_limit_that_means_nothing_is_refused(options: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        RunLimit(**options)  # type: ignore[arg-type]  # of any kind


async def test_two_limits_for_the_same_runs_are_refused() -> None:
    limits = [RunLimit(workflow="a", at_once=1), RunLimit(workflow="a", per_minute=1)]
    with pytest.raises(ValueError, match="'a': 1 at once; runs of 'a': 1 per minute"):
        async with running(MemoryStore(), limits=limits):
            raise AssertionError


def test_limits_are_configured() -> None:
    given = {"limits": [{"label": "customer", "at_once": 1}, {"workflow": "mail", "per_minute": 60}]}
    config = RunnerConfig.model_validate(given)
    assert config.limits == (RunLimit(label="customer", at_once=1), RunLimit(workflow="mail", per_minute=60))


async def test_no_more_runs_of_a_workflow_at_once_and_in_their_order(store: Store) -> None:
    meter = Meter()
    work = Chain("work", [step("measure", meter.measure), NOTHING])
    async with running(store, work, limits=[RunLimit(workflow="work", at_once=2)]) as runner:
        runs = [await runner.start(work, {"n": number}) for number in range(10)]
        for run in runs:
            await run.result()
    assert meter.most["all"] <= 2
    assert all(abs(number - place) <= 1 for place, number in enumerate(meter.order))


async def test_a_run_in_line_holds_up_no_other_and_takes_no_slot(store: Store) -> None:
    gate, other = Gate(), Chain("other", [NOTHING])
    slow = Chain("slow", [gate.step])
    async with running(store, slow, other, limits=[RunLimit(workflow="slow", at_once=1)], max_running=2) as runner:
        first, second = await runner.start(slow), await runner.start(slow)
        await gate.entered.wait()
        for _ in range(3):
            await (await runner.start(other)).result()
        assert (second.status, gate.calls) == (RunStatus.RUNNING, 1)
        gate.open.set()
        await first.result()
        await second.result()
    assert gate.calls == 2


async def test_each_value_of_a_label_is_limited_for_itself(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, limits=[RunLimit(label="customer", at_once=1)]) as runner:
        runs = [await runner.start(work, labels={"customer": customer}) for customer in "aabbcc"]
        runs.append(await runner.start(work))
        await until(lambda: gate.calls == 4)
        await some_turns()
        assert gate.calls == 4
        gate.open.set()
        for run in runs:
            await run.result()


async def test_a_limit_of_one_value_concerns_no_other(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, limits=[RunLimit(workflow="work", label="to", value="a", at_once=1)]) as runner:
        runs = [await runner.start(work, labels={"to": to}) for to in "aabb"]
        await until(lambda: gate.calls == 3)
        await some_turns()
        assert gate.calls == 3
        gate.open.set()
        for run in runs:
            await run.result()


async def test_parked_runs_do_not_count_and_wait_in_line_when_they_go_on(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [Wait("question"), gate.step])
    async with running(store, work, limits=[RunLimit(workflow="work", at_once=1)]) as runner:
        runs = [await runner.start(work, run_id=f"r{number}") for number in range(3)]
        for run in runs:
            assert await run.settled() is RunStatus.WAITING
        for run in runs:
            await runner.answer(f"{run.id}/question", "yes")
        await gate.entered.wait()
        await some_turns()
        assert gate.calls == 1
        gate.open.set()
        for run in runs:
            await run.result()


async def test_a_run_that_a_later_process_recovers_waits_in_line(store: Store) -> None:
    limits, gate = [RunLimit(workflow="work", at_once=1)], Gate()
    work = Chain("work", [gate.step])
    async with dying(store, work, limits=limits) as runner:
        for number in range(3):
            await runner.start(work, run_id=f"r{number}")
        await gate.entered.wait()
    assert gate.calls == 1
    again = Gate()
    work = Chain("work", [again.step])
    async with running(store, work, limits=limits) as runner:
        await runner.recover()
        await again.entered.wait()
        await some_turns()
        assert again.calls == 1
        again.open.set()
        for number in range(3):
            await (await runner.get(f"r{number}")).result()


async def test_a_run_in_line_is_cancelled_at_once(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, limits=[RunLimit(workflow="work", at_once=1)]) as runner:
        first, second, third = [await runner.start(work) for _ in range(3)]
        await gate.entered.wait()
        await runner.cancel(second.id)
        gate.open.set()
        await first.result()
        await third.result()
        assert second.status is RunStatus.CANCELLED
    assert gate.calls == 2


async def test_a_run_that_is_resumed_waits_in_line(store: Store) -> None:
    gate, counted = Gate(), Counted()
    work = Chain("work", [counted.fails("fail", until=lambda: len(counted.calls) > 1), gate.step])
    async with running(store, work, limits=[RunLimit(workflow="work", at_once=1)]) as runner:
        run = await runner.start(work)
        assert await run.settled() is RunStatus.FAILED
        other = await runner.start(work)
        await gate.entered.wait()
        again = await runner.resume(run.id)
        await some_turns()
        assert (again.status, gate.calls) == (RunStatus.RUNNING, 1)
        gate.open.set()
        await other.result()
        await again.result()


# runs that steps start


def starts(name: str, child: Pattern, *, key: str = "child") -> Pattern:
    async def call(_: State, context: StepContext) -> None:
        await context.child(child, key, {})

    return Chain(name, [step("call", call)])


async def test_runs_that_steps_start_count_toward_the_limit_of_their_workflow(store: Store) -> None:
    meter = Meter()
    child = Chain("child", [step("measure", meter.measure)])

    async def call(item: int, context: StepContext) -> int:
        await context.child(child, f"c{item}", {"n": item})
        return item

    parent = Chain("parent", [Parallel("fan", step("call", call), over="items")])
    async with running(store, parent, child, limits=[RunLimit(workflow="child", at_once=2)]) as runner:
        await (await runner.start(parent, {"items": list(range(6))})).result()
    assert meter.most["all"] == 2


async def test_runs_that_wait_for_each_other_do_not_hold_each_other_up(store: Store) -> None:
    leaf = Chain("leaf", [NOTHING])
    names = {"x": "y", "y": "x"}
    made: dict[str, Pattern] = {}

    def named(name: str) -> Pattern:
        async def call(state: State, context: StepContext) -> None:
            below = made[names[name]] if state["depth"] else leaf
            await context.child(below, "down", {"depth": state["depth"] - 1})

        return Chain(name, [step("call", call)])

    made |= {name: named(name) for name in names}
    limits = [RunLimit(workflow=name, at_once=1) for name in ("x", "y", "leaf")]
    async with running(store, *made.values(), leaf, limits=limits, max_running=2) as runner:
        runs = [await runner.start(made[name], {"depth": 2}) for name in "xyxyx"]
        for run in runs:
            await run.result()


async def test_a_run_below_one_of_its_own_workflow_gets_its_place(store: Store) -> None:
    async def call(state: State, context: StepContext) -> None:
        if state["depth"]:
            await context.child(holder[0], "down", {"depth": state["depth"] - 1})

    holder: list[Pattern] = []
    work = Chain("work", [step("call", call)])
    holder.append(work)
    async with running(store, work, limits=[RunLimit(workflow="work", at_once=1)]) as runner:
        runs = [await runner.start(work, {"depth": 3}) for _ in range(2)]
        for run in runs:
            await run.result()


async def test_a_limit_by_a_label_counts_a_run_with_all_that_its_steps_start(store: Store) -> None:
    leaf = Chain("leaf", [NOTHING])
    parent = starts("parent", leaf)
    async with running(store, parent, leaf, limits=[RunLimit(label="customer", at_once=1)]) as runner:
        runs = [await runner.start(parent, labels={"customer": "a"}) for _ in range(3)]
        for run in runs:
            await run.result()


# per minute


async def test_no_more_are_taken_up_within_a_minute(store: Store) -> None:
    clock, counted = Clock(), Counted()
    work = Chain("work", [counted.adds("done")])
    async with running(store, work, clock=clock, limits=[RunLimit(workflow="work", per_minute=2)]) as runner:
        runs = [await runner.start(work) for _ in range(5)]
        for done in (2, 4, 5):
            for run in runs[:done]:
                await run.result()
            assert len(counted.calls) == done
            clock.pass_(timedelta(seconds=59))
            await runner.recover()
            assert len(counted.calls) == done
            clock.pass_(timedelta(seconds=1))
            await runner.recover()


async def test_a_restart_allows_no_more_within_a_minute(store: Store) -> None:
    clock, counted = Clock(), Counted()
    limits = [RunLimit(workflow="work", per_minute=2), RunLimit(label="x", at_once=1)]
    work = Chain("work", [counted.adds("done")])
    async with dying(store, work, clock=clock, limits=limits) as runner:
        runs = [await runner.start(work, run_id=f"r{number}") for number in range(3)]
        for run in runs[:2]:
            await run.result()
    clock.pass_(timedelta(seconds=30))
    async with running(store, work, clock=clock, limits=limits) as runner:
        await runner.recover()
        more = await runner.start(work)
        await some_turns()
        assert len(counted.calls) == 2
        clock.pass_(timedelta(seconds=30))
        await runner.recover()
        await (await runner.get("r2")).result()
        await more.result()
    assert len(counted.calls) == 4


async def test_a_clock_that_is_set_back_holds_a_line_up_for_a_minute_at_most(store: Store) -> None:
    clock, counted = Clock(), Counted()
    work = Chain("work", [counted.adds("done")])
    limits = [RunLimit(workflow="work", per_minute=1)]
    async with running(store, work, clock=clock, limits=limits) as runner:
        await (await runner.start(work)).result()
        second = await runner.start(work)
        clock.pass_(timedelta(days=-1))
        await runner.recover()
        clock.pass_(timedelta(seconds=60))
        await runner.recover()
        await second.result()
    clock.pass_(timedelta(days=-1))
    async with running(store, work, clock=clock, limits=limits) as runner:
        third = await runner.start(work)
        assert third.status is RunStatus.RUNNING
        clock.pass_(timedelta(seconds=60))
        await runner.recover()
        await third.result()


async def test_what_goes_on_after_it_was_parked_counts_again(store: Store) -> None:
    clock, counted = Clock(), Counted()
    work = Chain("work", [Sleep("nap", 10), counted.adds("woken")])
    limits = [RunLimit(workflow="work", label="to", per_minute=1)]
    async with running(store, work, clock=clock, limits=limits) as runner:
        run = await runner.start(work, labels={"to": "a"})
        await run.settled()
        clock.pass_(timedelta(seconds=20))
        await runner.recover()
        await some_turns()
        assert counted.calls == []
        clock.pass_(timedelta(seconds=40))
        await runner.recover()
        await run.result()


# any runs

KINDS = st.sampled_from(["a", "b", "c"])


@settings(max_examples=40, deadline=None)
@given(
    most=st.fixed_dictionaries({"a": st.integers(1, 3), "x": st.integers(1, 2), "y": st.integers(1, 2)}),
    slots=st.sampled_from([1, 3, None]),
    asked=st.lists(st.tuples(KINDS, st.sampled_from(["x", "y", ""]), st.integers(0, 4)), min_size=1, max_size=25),
)
def test_no_limit_is_exceeded_and_no_run_is_starved(
    most: dict[str, int], slots: int | None, asked: list[tuple[str, str, int]]
) -> None:
    meter = Meter()
    works = {name: Chain(name, [step("measure", meter.measure)]) for name in "abc"}
    limits = [
        RunLimit(workflow="a", at_once=most["a"]),
        RunLimit(workflow="b", label="to", at_once=1),
        *(RunLimit(label="to", value=value, at_once=most[value]) for value in "xy"),
    ]

    async def all_of_them() -> None:
        async with running(MemoryStore(), *works.values(), limits=limits, max_running=slots) as runner:
            runs = []
            for name, value, turns in asked:
                state = {"kinds": ["all", name, value, f"{name}/{value}"], "turns": turns}
                runs.append(await runner.start(works[name], state, labels={"to": value} if value else {}))
            for run in runs:
                await run.result()

    anyio.run(all_of_them)
    assert meter.most["a"] <= most["a"]
    assert meter.most["b/x"] <= 1
    assert meter.most["b/y"] <= 1
    assert all(meter.most[value] <= most[value] for value in "xy")
    assert slots is None or meter.most["all"] <= slots


async def test_two_lines_that_are_always_full_do_not_starve_who_waits_for_both() -> None:
    meter, gone = Meter(), False
    both = Chain("both", [step("measure", meter.measure)])
    limits = [RunLimit(workflow="both", at_once=1), RunLimit(label="to", at_once=1)]
    one = Chain("one", [step("measure", meter.measure)])

    async with running(MemoryStore(), both, one, limits=limits) as runner, anyio.create_task_group() as tasks:

        async def keep_full(work: Pattern, labels: Mapping[str, str]) -> None:
            runs = [await runner.start(work, {"turns": 4}, labels=labels) for _ in range(2)]
            while not gone:
                await runs.pop(0).result()
                runs.append(await runner.start(work, {"turns": 4}, labels=labels))

        tasks.start_soon(keep_full, both, {"to": "b"})
        tasks.start_soon(keep_full, one, {"to": "a"})
        await until(lambda: len(meter.order) > 4)
        await (await runner.start(both, {"turns": 1}, labels={"to": "a"})).result()
        gone = True
