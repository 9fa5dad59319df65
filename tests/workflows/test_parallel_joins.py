"""What becomes of the values of a fan-out: by key, by `merge`, alone by `map`."""

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel
from tests.workflows._words import Store, running

from stagepost.workflows import Chain, DefinitionError, Parallel, ParallelError, RunFailed, State, step


class Page(BaseModel):
    number: int


class Book(BaseModel):
    pages: dict[str, int] = {}
    total: int = 0


def double(item: int) -> int:
    return 2 * item


async def page(item: int) -> Page:
    return Page(number=item)


async def number(item: Page) -> int:
    return item.number


DOUBLE = step("double", double, inline=True)


def total(state: State, values: Sequence[int]) -> dict[str, int]:
    return {"total": sum(values) + state.get("total", 0)}


@pytest.mark.parametrize("key", [str, lambda item: f"{item}"], ids=["type", "function"])
async def test_values_stand_under_the_key_of_their_item(key: Any) -> None:
    state = await Parallel("twice", DOUBLE, over="n", key=key).run({"n": [3, 1]})
    assert state["twice"] == {"3": 6, "1": 2}


async def test_a_key_may_be_the_name_of_a_field_or_of_an_attribute() -> None:
    named = Parallel("sizes", step("size", lambda item: len(item["name"]), inline=True), over="n", key="name")
    assert (await named.run({"n": [{"name": "ab"}, {"name": "c"}]}))["sizes"] == {"ab": 2, "c": 1}

    class Named(BaseModel):
        name: str

    async def size(item: Named) -> int:
        return len(item.name)

    size.__annotations__["item"] = Named
    typed = Parallel("sizes", size, over="n", key="name")
    assert (await typed.run({"n": [{"name": "abc"}]}))["sizes"] == {"abc": 3}


async def test_values_by_key_keep_their_type() -> None:
    state = await Parallel("pages", page, over="n", key=str).run({"n": [7]})
    assert state["pages"] == {"7": Page(number=7)}


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (lambda item: item, "key= must give text, and gave 1 for item 0"),
        (lambda _: "same", "items 0 and 1 have the same key 'same'"),
    ],
    ids=["no text", "twice"],
)
async def test_keys_that_cannot_serve_are_refused_before_any_work(key: Any, why: str) -> None:
    worked: list[int] = []
    fan = Parallel("fan", step("work", worked.append, inline=True), over="n", key=key)
    with pytest.raises(ParallelError, match=why):
        await fan.run({"n": [1, 2]})
    assert worked == []


async def test_merge_makes_an_update_of_the_state_and_the_values() -> None:
    state = await Parallel("sum", DOUBLE, over="n", merge=total).run({"n": [1, 2], "total": 10})
    assert dict(state) == {"n": [1, 2], "total": 16}


async def test_merge_gets_typed_values_and_a_typed_state() -> None:
    def sum_up(book: Book, pages: Sequence[Page]) -> Book:
        return book.model_copy(update={"total": sum(one.number for one in pages)})

    book = await Parallel("pages", page, over=lambda _: [3, 4], merge=sum_up, state=Book).run()
    assert book.total == 7


async def test_a_merge_that_raises_fails_the_fan_out_and_is_all_that_is_tried_again(store: Store) -> None:
    worked, merged = list[int](), list[int]()

    def work(item: int) -> int:
        worked.append(item)
        return item

    def fail_once(_: State, values: Sequence[int]) -> dict[str, int]:
        merged.append(len(values))
        if len(merged) == 1:
            raise ZeroDivisionError("not yet")
        return {"count": len(values)}

    chain = Chain("chain", [Parallel("fan", step("work", work, inline=True), over="n", merge=fail_once)])
    async with running(store, chain) as runner:
        run = await runner.start(chain, {"n": [5, 6]}, run_id="r1")
        with pytest.raises(RunFailed, match=r"values could not be put together: ZeroDivisionError: not yet"):
            await run.result()
        state = await (await runner.resume("r1")).result()
    assert state["count"] == 2
    assert (worked, merged) == ([5, 6], [2, 2])


async def test_map_works_on_items_without_a_state() -> None:
    assert await Parallel("twice", DOUBLE).map(range(3)) == [0, 2, 4]
    assert await Parallel("twice", DOUBLE, over="n", key=str).map([5]) == {"5": 10}
    assert await Parallel("pages", page).map([1]) == [Page(number=1)]
    assert await Parallel("numbers", number).map([Page(number=4)]) == [4]


async def test_map_fails_with_its_items_unless_failures_are_collected() -> None:
    inverse = step("inverse", lambda item: 1 / item, inline=True)
    with pytest.raises(ParallelError, match="1 of 2 items failed: item 1: ZeroDivisionError"):
        await Parallel("inverse", inverse).map([1, 0])
    assert await Parallel("inverse", inverse, failures="bad").map([1, 0]) == [1.0]


@pytest.mark.parametrize(
    "fan",
    [Parallel("fan", {"a": DOUBLE}), Parallel("fan", DOUBLE, merge=total)],
    ids=["branches", "merge"],
)
async def test_map_needs_a_worker_whose_values_are_wanted_as_they_are(fan: Parallel) -> None:
    with pytest.raises(DefinitionError, match=r"map\(\) needs a worker on items and no merge=: use run"):
        await fan.map([1])


async def test_a_fan_out_that_nobody_told_its_items_is_refused_before_it_runs() -> None:
    with pytest.raises(DefinitionError, match=r"nothing says what its items are: give over=, or call map\(items\)"):
        await Parallel("fan", DOUBLE).run()


@pytest.mark.parametrize("other", [{"into": "x"}, {"key": str}], ids=["into", "key"])
def test_merge_stands_alone(other: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="merge= says itself where the values go: leave into= and key= away"):
        Parallel("fan", DOUBLE, over="n", merge=total, **other)
