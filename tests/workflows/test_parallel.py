import os
from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any

import anyio
import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from pydantic import BaseModel
from tests.workflows._words import PATIENCE, Counted, Gate, Recorder, until

from stagepost.checkpoint import CannotStore
from stagepost.workflows import (
    Chain,
    ChainError,
    DefinitionError,
    ItemAccounts,
    ItemEnded,
    ItemsFrozen,
    Parallel,
    ParallelError,
    State,
    StepCancelled,
    StepContext,
    step,
)


class Page(BaseModel):
    number: int


def double(item: int) -> int:
    return 2 * item


DOUBLE = step("double", double, inline=True)


def picky(item: int) -> int:
    if item < 0:
        raise ValueError(f"{item} is negative")
    return item


PICKY = step("picky", picky, inline=True)


async def test_values_stand_in_the_order_of_the_items() -> None:
    turns = {1: 3, 2: 1, 3: 2}

    async def slow(item: int) -> int:
        for _ in range(turns[item]):
            await checkpoint()
        return 10 * item

    assert dict(await Parallel("tens", slow, over="items").run({"items": [1, 2, 3]}))["tens"] == [10, 20, 30]


async def test_items_come_from_a_key_or_a_function() -> None:
    assert (await Parallel("two", DOUBLE, over="n", into="twice").run({"n": [1, 2]}))["twice"] == [2, 4]
    assert (await Parallel("two", DOUBLE, over=lambda _: range(3)).run())["two"] == [0, 2, 4]


async def test_no_items_give_no_values() -> None:
    recorder = Recorder()
    result = await Parallel("two", DOUBLE, over="n", failures="bad").run({"n": []}, observer=recorder)
    assert dict(result) == {"n": [], "two": [], "bad": []}
    assert [(frozen.total, frozen.done) for frozen in recorder.of(ItemsFrozen)] == [(0, 0)]


@pytest.mark.parametrize("found", ["text", b"bytes", {"a": 1}, {1, 2}, None, iter([1])], ids=lambda v: type(v).__name__)
async def test_items_are_a_list(found: Any) -> None:
    with pytest.raises(ParallelError, match="items could not be had: TypeError: over= must give a list of items") as e:
        await Parallel("two", DOUBLE, over=lambda _: found).run()
    assert isinstance(e.value.__cause__, TypeError)


async def test_a_failing_over_is_an_error_of_the_fan_out() -> None:
    with pytest.raises(ParallelError, match="its items could not be had: MissingKey: the state has no key 'n'"):
        await Parallel("two", DOUBLE, over="n").run()


async def test_over_may_name_a_field_of_a_model() -> None:
    class Numbers(BaseModel):
        n: list[int]
        two: list[int] = []

    assert (await Parallel("two", DOUBLE, over="n", state=Numbers).run({"n": [4]})).two == [8]


def first(number: int, state: State) -> Sequence[int]:
    return range(number)


async def test_workers_are_as_many_as_asked_for() -> None:
    for workers, items, expected in ((2, 5, 2), (9, 3, 3), (None, 40, min(2 * (os.cpu_count() or 1), 16))):
        at_once: list[int] = []
        now = 0

        async def count(item: int) -> None:
            nonlocal now
            now += 1
            at_once.append(now)  # noqa: B023  # each round has its own list
            for _ in range(20):  # so that every worker has come, in whichever order the loop takes them
                await checkpoint()
            now -= 1

        await Parallel("p", count, over=partial(first, items), workers=workers).run()
        assert max(at_once) == expected


def test_definitions_that_make_no_sense_are_refused() -> None:
    with pytest.raises(DefinitionError, match="parallel 'p': workers=0: give at least 1, or None"):
        Parallel("p", DOUBLE, over="n", workers=0)
    with pytest.raises(DefinitionError, match="values and failures both go into 'x': rename one"):
        Parallel("p", DOUBLE, over="n", into="x", failures="x")
    with pytest.raises(DefinitionError, match="may_all_fail= is for failures that are collected"):
        Parallel("p", DOUBLE, over="n", may_all_fail=True)


async def test_annotations_of_a_worker_type_its_items_and_values() -> None:
    seen: list[object] = []

    async def due(page: Page, context: StepContext) -> date:
        seen.append(page)
        return date(2026, 1, page.number)

    async def look(state: State) -> None:
        seen.append(state["days"])

    work = Chain("work", [Parallel("days", due, over="pages", workers=1), look])
    result = await work.run({"pages": [{"number": 1}, {"number": 2}]})
    assert seen == [Page(number=1), Page(number=2), [date(2026, 1, 1), date(2026, 1, 2)]]
    assert result["days"] == [date(2026, 1, 1), date(2026, 1, 2)]
    assert result["pages"] == [{"number": 1}, {"number": 2}]


async def test_annotations_count_behind_a_partial() -> None:
    def due(month: int, page: Page) -> date:
        return date(2026, month, page.number)

    work = Parallel("days", step("due", partial(due, 3)), over=lambda _: [{"number": 5}])
    assert (await work.run())["days"] == [date(2026, 3, 5)]


async def test_an_item_that_is_none_of_its_type_fails_before_any_worker() -> None:
    counted: list[Page] = []

    async def note(page: Page) -> None:
        counted.append(page)

    with pytest.raises(ParallelError, match=r"p\[1\] cannot be stored: it is no valid Page"):
        await Parallel("p", note, over=lambda _: [{"number": 1}, {"number": "x"}]).run()
    assert counted == []


async def test_items_are_frozen_before_the_first_worker_gets_one() -> None:
    items = [[1], [2]]

    async def spoil(item: list[int]) -> int:
        items[1].append(99)
        return sum(item)

    assert (await Parallel("p", spoil, over=lambda _: items, workers=1).run())["p"] == [1, 2]


async def test_a_worker_cannot_change_an_item_for_others() -> None:
    async def mutate(page: Page) -> int:
        page.number += 1
        return page.number

    work = Chain("work", [Parallel("p", mutate, over="pages"), Parallel("q", mutate, over="pages")], types={})
    result = await work.run({"pages": [{"number": 1}]})
    assert (result["p"], result["q"]) == ([2], [2])


@pytest.mark.parametrize("value", [{1, 2}, Page(number=1)], ids=["set", "undeclared model"])
async def test_a_value_without_a_stored_form_fails_its_item(value: object) -> None:
    with pytest.raises(ParallelError, match=r"item 0: CannotStore: the value of p\[0\] cannot be stored") as caught:
        await Parallel("p", step("give", lambda _: value, inline=True), over=lambda _: [1]).run()
    assert isinstance(caught.value.__cause__, CannotStore)


async def test_failures_are_collected_where_they_have_a_key() -> None:
    recorder = Recorder()
    work = Parallel("good", PICKY, over="n", failures="bad", workers=1)
    result = await work.run({"n": [1, -2, 3, -4]}, observer=recorder)
    assert result["good"] == [1, 3]
    assert result["bad"] == [
        {"index": 1, "item": -2, "error": "ValueError: -2 is negative"},
        {"index": 3, "item": -4, "error": "ValueError: -4 is negative"},
    ]
    assert [(ended.index, ended.ok, ended.done, ended.total) for ended in recorder.of(ItemEnded)] == [
        (0, True, 1, 4),
        (1, False, 1, 4),
        (2, True, 2, 4),
        (3, False, 2, 4),
    ]


async def test_the_first_failure_fails_all_and_accounts_for_every_item() -> None:
    gate = Gate()

    async def work_on(item: str) -> str:
        if item == "waits":
            await gate.pass_through(item)
        if item == "fails":
            await gate.entered.wait()
            raise ValueError("no good")
        return item

    items = ["fine", "waits", "fails", "later", "last"]
    with fail_after(PATIENCE), pytest.raises(ParallelError) as caught:
        await Parallel("p", work_on, over="items", workers=2).run({"items": items})
    error = caught.value
    assert error.accounts == ItemAccounts(ok=(0,), failed=(2,), cancelled=(1,), not_started=(3, 4))
    assert [(failure.index, str(failure)) for failure in error.failures] == [(2, "ValueError: no good")]
    assert isinstance(error.__cause__, ValueError)
    assert str(error) == "parallel 'p' failed: 1 of 5 items failed: item 2: ValueError: no good"
    assert error.state["items"] == items
    assert gate.cancelled


async def test_no_item_is_started_behind_a_failure() -> None:
    seen: list[int] = []

    def note(item: int) -> None:
        seen.append(item)
        raise ValueError

    with pytest.raises(ParallelError) as caught:
        await Parallel("p", step("note", note, inline=True), over=lambda _: range(9), workers=4).run()
    assert len(seen) == 1
    assert caught.value.accounts.not_started == tuple(index for index in range(9) if index != seen[0])


async def test_a_message_shows_three_failures() -> None:
    entered = 0

    async def fail(item: int) -> None:
        nonlocal entered
        entered += 1
        with anyio.CancelScope(shield=True):  # none of them hears of the others' failure
            await until(lambda: entered == 5)
        raise ValueError(str(item))

    with fail_after(PATIENCE), pytest.raises(ParallelError, match="and 2 more") as caught:
        await Parallel("p", fail, over=lambda _: range(5), workers=5).run()
    assert str(caught.value).startswith("parallel 'p' failed: 5 of 5 items failed: item 0: ValueError: 0; item 1")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio lets nobody raise its cancellations
async def test_a_worker_that_awaits_something_cancelled_loses_no_item() -> None:
    async def broken(item: int) -> int:
        if item == 1:
            raise anyio.get_cancelled_exc_class()
        return item

    with pytest.raises(ParallelError) as caught:
        await Parallel("p", broken, over=lambda _: range(3), workers=1).run()
    assert isinstance(caught.value.__cause__, StepCancelled)
    assert caught.value.accounts == ItemAccounts(ok=(0,), failed=(1,), not_started=(2,))


async def test_a_pattern_as_worker_sees_the_state_and_its_item() -> None:
    def measure(state: State) -> Mapping[str, object]:
        return {"length": len(state["item"]) * state["factor"]}

    def judge(state: State) -> Mapping[str, object]:
        return {"long": state["length"] > 10}

    worker = Chain("measure", [step("measure", measure, inline=True), step("judge", judge, inline=True)])
    result = await Chain("work", [Parallel("words", worker, over="texts")]).run({"texts": ["a", "tides"], "factor": 3})
    assert result["words"] == [{"length": 3, "long": False}, {"length": 15, "long": True}]
    assert "length" not in result


async def test_a_pattern_as_worker_may_type_its_item() -> None:
    worker = Chain("w", [step("next", lambda s: {"next": s["item"].number + 1}, inline=True)], types={"item": Page})
    assert (await Parallel("p", worker, over=lambda _: [{"number": 1}]).run())["p"] == [{"next": 2}]


async def test_a_pattern_as_worker_may_have_a_model_of_its_own() -> None:
    class Row(BaseModel):
        item: int
        factor: int
        product: int = 0

    worker = Chain("w", [step("x", lambda row: {"product": row.item * row.factor}, inline=True)], state=Row)
    assert (await Parallel("p", worker, over=lambda _: [1, 2]).run({"factor": 3}))["p"] == [
        {"product": 3},
        {"product": 6},
    ]


async def test_fan_outs_nest() -> None:
    inner = Parallel("inner", DOUBLE, over="item")
    assert (await Parallel("outer", inner, over="rows").run({"rows": [[1, 2], [], [3]]}))["outer"] == [
        {"inner": [2, 4]},
        {"inner": []},
        {"inner": [6]},
    ]


async def test_a_pattern_that_fails_is_the_failure_of_its_item() -> None:
    counted = Counted()
    worker = Chain("inner", [counted.adds("a"), counted.fails("b")])
    with pytest.raises(ChainError) as caught:
        await Chain("outer", [Parallel("p", worker, over=lambda _: [1], workers=1)]).run()
    assert str(caught.value) == (
        "chain 'outer' failed at step 'p': parallel 'p' failed: 1 of 1 items failed: "
        "item 0: chain 'inner' failed at step 'b': ValueError: b is broken"
    )
    causes = [type(caught.value)]
    error: BaseException | None = caught.value
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
        causes.append(type(error))  # type: ignore[arg-type]  # any error
    assert [cause.__name__ for cause in causes] == ["ChainError", "ParallelError", "ChainError", "ValueError"]


async def test_a_failed_pattern_is_collected_like_any_failure() -> None:
    worker = Chain("inner", [Counted().fails("b")])
    result = await Parallel("p", worker, over=lambda _: [1], failures="bad", may_all_fail=True).run()
    assert (result["p"], result["bad"][0]["error"]) == ([], "chain 'inner' failed at step 'b': ValueError: b is broken")


async def test_each_item_has_an_idempotency_key_of_its_own() -> None:
    keys: list[str] = []

    async def note(item: object, context: StepContext) -> None:
        keys.append(context.idempotency_key.partition("/")[2])

    await Chain("c", [Parallel("p", note, over=lambda _: range(2), workers=1)]).run()
    await Chain("c", [Parallel("p", Chain("w", [note]), over=lambda _: range(2), workers=1)]).run()
    assert keys == ["p[0]", "p[1]", "p[0]/note", "p[1]/note"]


async def test_an_error_with_odd_text_is_collected_as_text_that_can_be_stored() -> None:
    def fail(item: int) -> None:
        raise OSError("caf\udce9")

    broken = step("fail", fail, inline=True)
    result = await Parallel("p", broken, over=lambda _: [1], failures="bad", may_all_fail=True).run()
    assert result["bad"][0]["error"] == "OSError: caf\\udce9"


async def test_cancelling_the_caller_cancels_all_workers() -> None:
    gates = [Gate(), Gate()]

    async def wait(item: int) -> None:
        await gates[item].pass_through(item)

    with fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(Parallel("p", wait, over=lambda _: range(2), workers=2).run)
            for gate in gates:
                await gate.entered.wait()
            group.cancel_scope.cancel()
    assert [gate.cancelled for gate in gates] == [True, True]
