"""One worker on one item after the other, each on the state that the one before has left."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from anyio import fail_after
from pydantic import BaseModel
from tests.workflows._words import NOTHING, PATIENCE, Counted, Gate, Recorder, Store, leave_at, running
from tests.workflows.test_nested_errors import chain, conditional, parallel, single

from stagepost.workflows import (
    Chain,
    ChainProgress,
    DefinitionError,
    Fold,
    FoldError,
    IncompatibleCheckpoint,
    ItemsFrozen,
    MissingKey,
    Parallel,
    PatternError,
    Retry,
    RunFailed,
    State,
    StepContext,
    StepEnded,
    StepTimeout,
    step,
)


def add(state: State, item: int) -> Mapping[str, object]:
    return {"sum": state.get("sum", 0) + item, "seen": [*state.get("seen", []), item]}


def total(name: str = "total") -> Fold:
    return Chain.fold(name, add, over="n", inline=True)


async def test_a_worker_is_applied_to_each_item_in_order(store: Store) -> None:
    work = total()
    expected = {"n": [3, 1, 2], "sum": 6, "seen": [3, 1, 2]}
    assert dict(await work.run({"n": [3, 1, 2]})) == expected
    async with running(store, work) as runner:
        assert dict(await (await runner.start(work, {"n": [3, 1, 2]})).result()) == expected


async def test_no_items_change_nothing(store: Store) -> None:
    work = Chain("work", [total(), NOTHING])
    async with running(store, work) as runner:
        assert dict(await (await runner.start(work, {"n": []}, run_id="r1")).result()) == {"n": []}
        assert (await store.load("r1")).root.seq == 3  # nothing to freeze


async def test_each_item_is_one_commit_and_the_last_forgets_the_items(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [total(), gate.step])
    async with running(store, work) as runner:
        run = await runner.start(work, {"n": [1, 2, 3]}, run_id="r1")
        await gate.entered.wait()
        snapshot = await store.load("r1")
        assert (snapshot.root.seq, snapshot.items, snapshot.root.visits) == (5, (), {})
        gate.open.set()
        await run.result()


async def test_a_fold_goes_on_behind_the_last_item_that_was_saved(store: Store) -> None:
    gate, calls = Gate(), list[int]()

    async def note(state: State, item: int) -> Mapping[str, object]:
        calls.append(item)
        if item == 2:
            await gate.pass_through(state)
        return {"n": [], "seen": [*state.get("seen", []), item]}  # the items are frozen

    work = Chain.fold("work", note, over="n")
    await leave_at(gate, store, work, {"n": [1, 2, 3]})
    async with running(store, work) as runner:
        result = await (await runner.recover()).resumed[0].result()
    assert dict(result) == {"n": [], "seen": [1, 2, 3]}
    assert calls == [1, 2, 2, 3]


async def test_a_failed_item_is_tried_again_by_resume_and_those_before_it_are_not(store: Store) -> None:
    calls = list[int]()

    def once(state: State, item: int) -> Mapping[str, object]:
        calls.append(item)
        if calls.count(2) == 1 and item == 2:
            raise ValueError("two is odd today")
        return add(state, item)

    work = Chain.fold("work", once, over="n", inline=True)
    async with running(store, work) as runner:
        run = await runner.start(work, {"n": [1, 2, 3]}, run_id="r1")
        with pytest.raises(RunFailed, match="fold 'work' failed at item 1: ValueError: two is odd today"):
            await run.result()
        assert (await (await runner.resume("r1")).result())["sum"] == 6
    assert calls == [1, 2, 2, 3]


async def test_an_error_carries_item_index_state_and_cause() -> None:
    def refuse(state: State, item: str) -> Mapping[str, object]:
        if item == "secret":
            raise ValueError("no")
        return {"seen": [*state.get("seen", []), item]}

    with pytest.raises(FoldError) as caught:
        await Chain.fold("lines", refuse, over="lines").run({"lines": ["a", "b", "secret"]})
    error = caught.value
    assert (error.name, error.index, error.item, error.state["seen"]) == ("lines", 2, "secret", ["a", "b"])
    assert isinstance(error.__cause__, ValueError)
    assert str(error) == "fold 'lines' failed at item 2: ValueError: no"


@pytest.mark.parametrize("over", ["missing", "text", lambda _: 1 / 0], ids=["no key", "text", "raises"])
async def test_items_that_cannot_be_had_are_an_error_without_an_item(over: Any) -> None:
    with pytest.raises(FoldError, match="fold 'f' failed: its items could not be had") as caught:
        await Chain.fold("f", add, over=over).run({"text": "abc"})
    assert (caught.value.index, caught.value.item) == (None, None)
    assert isinstance(caught.value.__cause__, MissingKey | TypeError | ZeroDivisionError)


async def test_a_result_that_is_no_update_is_an_error_of_its_item() -> None:
    with pytest.raises(FoldError, match="item 1: StepResultError: step 'f' returned int"):
        await Chain.fold("f", lambda _, item: item or None, over="n", inline=True).run({"n": [0, 1]})


@pytest.mark.parametrize("outer", [chain, conditional, single, parallel], ids=lambda make: make.__name__)
async def test_a_fold_stands_wherever_a_step_does(outer: Any, store: Store) -> None:
    work = outer(Chain("inner", [total()]))
    async with running(store, work) as runner:
        result = await (await runner.start(work, {"n": [1, 2]})).result()
    assert (result["parallel"][0] if outer is parallel else result)["sum"] == 3
    with pytest.raises(PatternError) as caught:
        await work.run({"n": ["text"]})
    errors: list[BaseException | None] = [caught.value]
    while errors[-1] is not None:
        errors.append(errors[-1].__cause__)
    assert isinstance(errors[-3], FoldError)
    assert isinstance(errors[-2], TypeError)


async def test_branches_may_be_folds() -> None:
    work = Parallel("both", {"sum": total("any"), "other": NOTHING})
    assert (await work.run({"n": [1, 2]}))["sum"] == 3


class Line(BaseModel):
    text: str


class Report(BaseModel):
    lines: list[Line] = []
    length: int = 0


def measure(report: Report, line: Line) -> Report:
    return report.model_copy(update={"length": report.length + len(line.text)})


async def test_states_and_items_may_have_types(store: Store) -> None:
    work = Chain.fold("work", measure, over="lines", state=Report)
    async with running(store, work) as runner:
        result = await (await runner.start(work, {"lines": [{"text": "ab"}, {"text": "c"}]})).result()
    assert result == Report(lines=[Line(text="ab"), Line(text="c")], length=3)


async def test_a_worker_may_take_a_context_and_each_item_has_its_own_key() -> None:
    seen: list[tuple[str, str]] = []

    async def look(state: State, item: int, context: StepContext) -> None:
        seen.append((context.path, context.idempotency_key.removeprefix(context.run_id)))

    await Chain("work", [Chain.fold("f", look, over="n")]).run({"n": [1, 2]})
    assert seen == [("f[0]", "/f[0]"), ("f[1]", "/f[1]")]


async def test_an_item_may_be_tried_again_or_take_too_long() -> None:
    left = [2]

    async def flaky(state: State, item: list[int]) -> Mapping[str, object]:
        assert item == [1]  # whatever the attempt before did with it
        left[0] -= 1
        if left[0] >= 0:
            raise ConnectionError
        return {"done": True}

    retry = Retry(first=0, jitter=0, on=ConnectionError)
    assert (await Chain.fold("f", flaky, over="n", retry=retry).run({"n": [[1]]}))["done"]
    gate = Gate()

    async def wait(state: State, item: int) -> None:
        await gate.open.wait()

    with fail_after(PATIENCE), pytest.raises(FoldError) as caught:
        await Chain.fold("f", wait, over="n", timeout=0.01).run({"n": [1]})
    assert isinstance(caught.value.__cause__, StepTimeout)


async def test_observers_hear_of_each_item() -> None:
    recorder = Recorder()
    await Chain("work", [total()]).run({"n": [5, 6]}, observer=recorder)
    assert [(event.path, event.total) for event in recorder.of(ItemsFrozen)] == [("total", 2)]
    assert [event.path for event in recorder.of(StepEnded)] == ["total[0]", "total[1]"]
    progress = [event for event in recorder.of(ChainProgress) if event.path == "total"]
    assert [(event.index, event.total) for event in progress] == [(0, 2), (1, 2)]


def _alone(state: State) -> None: ...
def _by_name(state: State, *, item: int) -> None: ...
def _greedy(state: State, item: int, more: int) -> None: ...


@pytest.mark.parametrize(
    ("worker", "problem"),
    [
        (_alone, r"must take \(state, item\)"),
        (_by_name, r"must take \(state, item\)"),
        (_greedy, r"nothing is passed to its parameter 'more': a step takes \(state, item\) or"),
    ],
    ids=["one", "by name", "three"],
)
def test_a_worker_takes_state_and_item(worker: Callable[..., None], problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem):
        Chain.fold("f", worker, over="n")


async def test_a_worker_may_take_any_number() -> None:
    assert (await Chain.fold("f", lambda *pair: {"n": list(pair[0]["n"])}, over="n").run({"n": [1]}))["n"] == [1]


def _fold(gate: Gate) -> Fold:
    async def work(state: State, item: int) -> None:
        if item == 2:
            await gate.pass_through(state)

    return Chain.fold("f", work, over="n")


def _fan(gate: Gate) -> Parallel:
    async def work(item: int) -> None:
        if item == 2:
            await gate.pass_through(item)

    return Parallel("f", work, over="n", workers=1)


@pytest.mark.parametrize(
    ("before", "now", "place"),
    [
        (_fold, lambda _: step("f", lambda _: None), "f"),
        (_fold, _fan, "f"),
        (_fold, lambda _: NOTHING, "f"),
        (_fan, _fold, "f[0]"),
    ],
    ids=["a step", "a fan-out", "gone", "was a fan-out"],
)
async def test_a_fold_that_has_changed_is_incompatible(store: Store, before: Any, now: Any, place: str) -> None:
    gate = Gate()
    await leave_at(gate, store, Chain("work", [before(gate)]), {"n": [1, 2]})
    async with running(store, Chain("work", [now(gate)])) as runner:
        error = (await runner.recover()).left_open["r1"]
    assert isinstance(error, IncompatibleCheckpoint)
    assert error.place == place


def test_a_fold_is_drawn() -> None:
    drawn = Chain("work", [total(), Counted().adds("a")]).mermaid()
    assert '[["each of total, in order"]]' in drawn
    assert drawn.count("-->") == 1
