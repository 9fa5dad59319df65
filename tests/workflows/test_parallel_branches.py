"""Different steps and patterns at once on one state."""

import json
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from pydantic import BaseModel
from tests.workflows._words import PATIENCE, Gate, Recorder, Store, running

from stagepost.checkpoint import SqliteStore
from stagepost.hub import InvalidName
from stagepost.workflows import (
    Ask,
    Chain,
    DefinitionError,
    Graph,
    HubRequired,
    IncompatibleCheckpoint,
    ItemEnded,
    MergeConflict,
    Parallel,
    ParallelError,
    RunFailed,
    State,
    Step,
    step,
)


class Order(BaseModel):
    amount: int
    credit: bool = False
    stock: int = 0


def writes(key: str, value: object = True) -> Step:  # noqa: FBT002  # a value like any other
    return step(key, lambda _: {key: value}, inline=True)


async def test_branches_see_the_state_and_what_they_write_is_merged() -> None:
    async def credit(state: State) -> dict[str, bool]:
        return {"credit": state["amount"] < 100}

    checks = Parallel("checks", {"credit": credit, "stock": Chain("stock", [writes("a", 1), writes("b", 2)])})
    state = await Chain("order", [checks, writes("end")]).run({"amount": 5})
    assert dict(state) == {"amount": 5, "credit": True, "a": 1, "b": 2, "end": True}


async def test_branches_run_at_once() -> None:
    gates = {"left": Gate("left"), "right": Gate("right")}
    both = Parallel("both", {name: gate.step for name, gate in gates.items()})
    with fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(both.run)
            for gate in gates.values():
                await gate.entered.wait()
            for gate in gates.values():
                gate.open.set()


async def test_branches_work_on_a_typed_state() -> None:
    async def credit(order: Order) -> dict[str, bool]:
        return {"credit": order.amount < 100}

    async def stock(order: Order) -> Order:
        return order.model_copy(update={"stock": order.amount + 1})

    order = await Parallel("checks", {"credit": credit, "stock": stock}, state=Order).run(Order(amount=4))
    assert order == Order(amount=4, credit=True, stock=5)


async def test_a_branch_does_not_see_what_another_one_writes() -> None:
    seen: list[set[str]] = []

    def look(state: State) -> None:
        seen.append(set(state))

    branches: dict[str, Chain | Step] = {
        "a": Chain("a", [writes("x"), step("look", look, inline=True)]),
        "b": writes("y"),
    }
    await Parallel("both", branches).run({"z": 1})
    assert seen == [{"z", "x"}]


async def test_a_key_that_two_branches_write_is_a_conflict() -> None:
    both = Parallel("both", {"left": writes("x", 1), "right": Chain("right", [writes("x", 1)])})
    with pytest.raises(ParallelError, match="branches 'left' and 'right' have both written the key 'x'") as caught:
        await both.run()
    cause = caught.value.__cause__
    assert isinstance(cause, MergeConflict)
    assert (cause.key, cause.branches) == ("x", ("left", "right"))


async def test_the_failure_of_a_branch_fails_all_and_says_which(store: Store) -> None:
    calls: list[str] = []

    def sure(_: State) -> dict[str, bool]:
        calls.append("sure")
        return {"sure": True}

    def fails_once(_: State) -> dict[str, bool]:
        calls.append("fails")
        if calls.count("fails") == 1:
            raise ConnectionError("closed")
        return {"late": True}

    both = Parallel(
        "both",
        {"sure": step("sure", sure, inline=True), "fails": step("fails", fails_once, inline=True)},
        workers=1,
    )
    async with running(store, both) as runner:
        run = await runner.start(both, run_id="r1")
        with pytest.raises(RunFailed, match="1 of 2 branches failed: branch 'fails' failed: ConnectionError: closed"):
            await run.result()
        state = await (await runner.resume("r1")).result()
    assert dict(state) == {"sure": True, "late": True}
    assert calls == ["sure", "fails", "fails"]


async def test_collected_failures_name_the_branch() -> None:
    fails = step("fails", lambda _: 1 / 0, inline=True)
    state = await Parallel("both", {"fails": fails, "fine": writes("x")}, failures="bad").run()
    assert state["x"] is True
    assert [dict(bad) for bad in state["bad"]] == [
        {"index": 0, "item": "fails", "error": "branch 'fails' failed: ZeroDivisionError: division by zero"},
    ]


async def test_branches_nest_in_items_and_graphs() -> None:
    both = Parallel("both", {"a": writes("a"), "b": step("item", lambda s: {"b": s["item"]}, inline=True)})
    fan = Parallel("fan", Chain("each", [both]), over="n")
    graph = Graph("graph")
    graph.add("fan", fan)
    graph.start("fan")
    graph.finish("fan")
    state = await graph.run({"n": [1, 2]})
    assert state["fan"] == [{"a": True, "b": 1}, {"a": True, "b": 2}]


async def test_each_branch_ends_in_an_event() -> None:
    recorder = Recorder()
    await Parallel("both", {"a": writes("a"), "b": writes("b")}).run(observer=recorder)
    assert sorted(event.index for event in recorder.of(ItemEnded)) == [0, 1]


def test_the_diagram_shows_each_branch_in_a_frame() -> None:
    drawn = Parallel("both", {"a": writes("left"), "b": Chain("c", [writes("x"), writes("y")])}).mermaid()
    assert drawn.splitlines() == [
        "flowchart TD",
        '    subgraph n1["both"]',
        '        n2["left"]',
        '        n3["x"]',
        "        n3 --> n4",
        '        n4["y"]',
        "    end",
    ]


async def test_a_branch_that_asks_an_agent_needs_a_hub() -> None:
    with pytest.raises(HubRequired, match="'oracle'"):
        await Parallel("both", {"ask": Ask("oracle", lambda state: state)}).run()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"over": "n"}, "over= is for a worker on items, and this has branches"),
        ({"into": "n"}, "into= is for a worker on items"),
        ({"key": str}, "key= is for a worker on items"),
        ({"merge": lambda _state, _values: None}, "merge= is for a worker on items"),
    ],
    ids=["over", "into", "key", "merge"],
)
def test_options_of_items_do_not_go_with_branches(options: dict[str, object], why: str) -> None:
    with pytest.raises(DefinitionError, match=why):
        Parallel("both", {"a": writes("a")}, **options)  # type: ignore[arg-type]  # each is valid alone


def test_branches_need_names_that_can_stand_in_a_path() -> None:
    with pytest.raises(InvalidName):
        Parallel("both", {"no/name": writes("a")})
    with pytest.raises(DefinitionError, match="it has no branches: give at least one"):
        Parallel("both", {})


def test_branches_that_type_one_key_differently_are_refused() -> None:
    def branch(kind: type) -> Chain:
        return Chain(kind.__name__, [writes(kind.__name__)], types={"when": kind})

    with pytest.raises(DefinitionError, match="key 'when'"):
        _ = Parallel("both", {"a": branch(Order), "b": branch(bytes)}).plan


@pytest.mark.parametrize("names", [["b", "a"], ["a"], ["a", "c"]], ids=["other order", "one gone", "renamed"])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_branches_that_changed_under_a_run_leave_it_open(tmp_path: Path, names: list[str]) -> None:
    def both(names: list[str], gate: Gate) -> Parallel:
        return Parallel("both", {name: Chain(name, [writes(name), gate.step]) for name in names})

    gate = Gate()
    async with running(SqliteStore(tmp_path / "runs.db"), old := both(["a", "b"], gate), grace=0) as runner:
        await runner.start(old, run_id="r1")
        await gate.entered.wait()
    async with running(SqliteStore(tmp_path / "runs.db"), both(names, Gate())) as runner:
        report = await runner.recover()
        assert isinstance(report.left_open["r1"], IncompatibleCheckpoint)


async def test_what_a_branch_is_stored_as_is_its_name(store: Store) -> None:
    gate = Gate()
    both = Parallel("both", {"a": gate.step, "b": writes("b")})
    async with running(store, both, grace=0) as runner:
        await runner.start(both, run_id="r1")
        await gate.entered.wait()
        items = (await store.load("r1")).items
        assert [json.loads(item.input) for item in items] == ["a", "b"]
