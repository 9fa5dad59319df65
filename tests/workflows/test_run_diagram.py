"""A run's flowchart, read back as the marks of its nodes."""

import re
from collections.abc import Awaitable, Callable

import pytest
from tests.workflows._words import NOTHING, Gate, Store, leave_at, running
from tests.workflows.test_graph import COUNT, loop

from stagepost.checkpoint import RunNotFound
from stagepost.workflows import (
    END,
    Chain,
    Conditional,
    Graph,
    Parallel,
    RunFailed,
    Runner,
    State,
    UnknownWorkflow,
    Wait,
    step,
)

_NODE = re.compile(r'^ +(?:subgraph )?(\w+)[\[{]+"(.*)"[\]}]+$', re.MULTILINE)
_CLASS = re.compile(r"^    class ([\w,]+) (\w+)$", re.MULTILINE)

A, B, C = (step(name, lambda _: None, inline=True) for name in "abc")


async def marks(runner: Runner, run_id: str = "r1") -> dict[str, str]:
    """Mark by text of each node that has one."""
    drawn = await runner.diagram(run_id)
    names = dict(_NODE.findall(drawn))
    found = {names[node]: mark for nodes, mark in _CLASS.findall(drawn) for node in nodes.split(",")}
    assert {f"classDef {mark}" for mark in found.values()} == {line[:-1] for line in _defined(drawn)}
    return found


def _defined(drawn: str) -> list[str]:
    return re.findall(r"classDef \w+ ", drawn)


def stuck(gate: Gate, at: object = None) -> Callable[[object], Awaitable[object]]:
    async def work(item: object) -> object:
        return await gate.pass_through(item) if at in (None, item) else None

    return work


async def test_a_run_stands_somewhere_and_what_is_before_is_done(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [A, Conditional("choice", lambda_x, {"x": B, "y": C}), gate.step, Chain("after", [NOTHING])])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        assert await marks(runner) == {"a": "done", "choice": "done", "gate": "current"}
        gate.open.set()
        await run.result()
        assert await marks(runner) == {"a": "done", "choice": "done", "gate": "done", "nothing": "done"}


def lambda_x(state: State) -> str:
    return "x"


async def test_a_failed_run_shows_where(store: Store) -> None:
    work = Chain("work", [A, step("b", lambda _: 1 / 0), C])
    async with running(store, work) as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(work, run_id="r1")).result()
        assert await marks(runner) == {"a": "done", "b": "failed"}


async def test_a_cancelled_run_shows_where_it_was(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [A, gate.step])
    async with running(store, work) as runner:
        await runner.start(work, run_id="r1")
        await gate.entered.wait()
        await runner.cancel("r1")
        assert await marks(runner) == {"a": "done", "gate": "cancelled"}


async def test_a_run_that_waits_shows_for_what(store: Store) -> None:
    fan = Parallel("fan", Wait("approval"), over=lambda _: [1, 2])
    inner = Parallel("items", Chain("worker", [A, Wait("consent")]), over=lambda _: [1])
    work = Chain("work", [Wait("first"), fan, inner])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        assert await marks(runner) == {"first": "waiting"}
        await runner.answer(run.waits[0], "yes")
        await run.settled()
        assert await marks(runner) == {"first": "done", "each of fan (0 of 2)": "current", "approval": "waiting"}
        for wait in run.waits:
            await runner.answer(wait, "yes")
        await _until_parked_at(runner, "items[0]/consent")
        expected = {"first": "done", "each of fan": "done", "each of items (0 of 1)": "current", "a": "done"}
        assert await marks(runner) == {**expected, "consent": "waiting"}


async def _until_parked_at(runner: Runner, place: str) -> None:
    run = await runner.get("r1")
    while f"r1/{place}" not in run.waits:
        await run.settled()
        run = await runner.get("r1")


async def test_items_are_counted_and_their_steps_marked(store: Store) -> None:
    gate = Gate()
    worker = Chain("worker", [A, step("stuck", lambda _: None), gate.step])
    fan = Parallel("fan", worker, over=lambda _: [1, 2, 3], workers=2)
    async with running(store, fan) as runner:
        run = await runner.start(fan, run_id="r1")
        await gate.entered.wait()
        found = await marks(runner)
        assert (found["each of fan (0 of 3)"], found["a"], found["gate"]) == ("current", "done", "current")
        gate.open.set()
        await run.result()
        assert await marks(runner) == {"each of fan": "done"}


async def test_of_a_failed_fan_out_the_failed_item_shows(store: Store) -> None:
    fan = Parallel("fan", Chain("worker", [A, step("b", lambda _: 1 / 0)]), over=lambda _: [1, 2], workers=1)
    async with running(store, fan) as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(fan, run_id="r1")).result()
        assert await marks(runner) == {"each of fan (0 of 2)": "failed", "a": "done", "b": "failed"}


async def test_branches_are_marked_each(store: Store) -> None:
    gate = Gate()
    both = Parallel("both", {"left": Chain("left", [A, gate.step]), "right": Chain("right", [B, C])})
    async with running(store, both) as runner:
        run = await runner.start(both, run_id="r1")
        await gate.entered.wait()
        found = await marks(runner)
        while "both (1 of 2)" not in found:  # the other branch takes its time
            found = await marks(runner)
        assert (found["both (1 of 2)"], found["a"], found["gate"]) == ("current", "done", "current")
        gate.open.set()
        await run.result()


async def test_a_fold_is_counted(store: Store) -> None:
    gate = Gate()

    async def work(state: State, item: int) -> None:
        if item == 2:
            await gate.pass_through(state)

    fold = Chain.fold("lines", work, over=lambda _: [1, 2, 3])
    async with running(store, fold) as runner:
        run = await runner.start(fold, run_id="r1")
        await gate.entered.wait()
        assert await marks(runner) == {"each of lines, in order (1 of 3)": "current"}
        gate.open.set()
        await run.result()
        assert await marks(runner) == {"each of lines, in order": "done"}


async def test_nodes_that_were_visited_are_done_and_the_one_entered_again_is_current(store: Store) -> None:
    gate = Gate(updates={"n": 9})
    work = Chain("work", [loop(2, node=COUNT), loop(5, name="second", node=gate.step)])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        assert await marks(runner) == {"count": "done", "nothing": "done", "gate": "current"}
        gate.open.set()
        await run.result()


async def test_of_a_completed_graph_that_an_edge_leaves_what_every_way_leads_through_is_done(store: Store) -> None:
    work = Graph("work")
    for name, node in (("a", A), ("b", B), ("c", C)):
        work.add(name, node)
    work.edge("a", "b")
    work.edge("b", "c", when=lambda state: "more" in state)
    work.edge("b", END)
    work.edge("c", "b")
    work.start("a")
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r1")).result()
        assert await marks(runner) == {"a": "done", "b": "done"}


async def test_what_cannot_be_drawn_is_an_error(store: Store) -> None:
    work = Chain("work", [A])
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r1")).result()
        with pytest.raises(RunNotFound):
            await runner.diagram("r2")
    async with running(store) as runner:
        with pytest.raises(UnknownWorkflow):
            await runner.diagram("r1")


async def test_what_a_changed_workflow_no_longer_has_is_not_marked(store: Store) -> None:
    gate = Gate()
    old = Chain("work", [A, Parallel("fan", Chain("worker", [B, gate.step]), over="n")])
    await leave_at(gate, store, old, {"n": [1]})
    async with running(store, Chain("work", [A, Parallel("fan", C, over="n")])) as runner:
        assert await marks(runner) == {"a": "done", "each of fan (0 of 1)": "current"}
