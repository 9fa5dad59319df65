"""What a fan-out says of its items as a whole: all failed, too large together."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel
from tests.workflows._words import running

from stagepost.checkpoint import MemoryStore, RunStatus, SqliteStore
from stagepost.workflows import (
    Append,
    Chain,
    Parallel,
    ParallelError,
    RunFailed,
    State,
    Wait,
    step,
)


def picky(item: int) -> int:
    if item < 0:
        raise ValueError("it is negative")
    if item == 0:
        raise LookupError("it is nothing")
    return item


PICKY = step("picky", picky, inline=True)
FAN = Parallel("fan", PICKY, over="n", failures="bad", workers=2)
INNER = Chain("inner", [step("take", lambda state: {"out": picky(state["item"])}, inline=True)])
ALL_FAILED = "3 of 3 items failed: 2 items \\(0, 2\\): ValueError: it is negative; item 1: LookupError: it is nothing"


async def test_a_fan_out_whose_items_have_all_failed_fails_although_failures_are_collected() -> None:
    with pytest.raises(ParallelError, match=ALL_FAILED) as caught:
        await FAN.run({"n": [-1, 0, -2]})
    error = caught.value
    assert (error.accounts.ok, error.accounts.failed) == ((), (0, 1, 2))
    assert error.reasons == {"ValueError: it is negative": (0, 2), "LookupError: it is nothing": (1,)}
    assert isinstance(error.__cause__, ValueError)


@pytest.mark.parametrize("workers", [1, 2])
async def test_partial_success_is_no_failure(workers: int) -> None:
    state = await Parallel("fan", PICKY, over="n", failures="bad", workers=workers).run({"n": [-1, 1]})
    assert state["fan"] == [1]
    assert [bad["index"] for bad in state["bad"]] == [0]


async def test_no_items_are_no_failure() -> None:
    state = await FAN.run({"n": []})
    assert (state["fan"], state["bad"]) == ([], [])


@pytest.mark.parametrize("worker", [PICKY, INNER], ids=["step", "pattern"])
async def test_it_may_be_said_that_all_may_fail(worker: Any) -> None:
    fan = Parallel("fan", worker, over="n", failures="bad", may_all_fail=True)
    state = await fan.run({"n": [-1, 0]})
    assert state["fan"] == []
    assert [bad["index"] for bad in state["bad"]] == [0, 1]


async def test_branches_that_have_all_failed_fail_the_whole() -> None:
    def breaks(state: State) -> None:
        raise ValueError("broken")

    branches = {"left": step("one", breaks, inline=True), "right": step("two", breaks, inline=True)}
    with pytest.raises(ParallelError, match="2 of 2 branches failed: branch 'left' failed: ValueError: broken"):
        await Parallel("both", branches, failures="bad").run()
    state = await Parallel("both", branches, failures="bad", may_all_fail=True).run()
    assert [bad["item"] for bad in state["bad"]] == ["left", "right"]


async def test_map_fails_if_all_items_have_failed() -> None:
    with pytest.raises(ParallelError, match="2 of 2 items failed"):
        await FAN.map([-1, -2])
    assert await FAN.map([-1, 2]) == [2]
    assert await Parallel("fan", PICKY, failures="bad", may_all_fail=True).map([-1]) == []


async def test_a_run_whose_items_have_all_failed_is_failed_and_can_be_resumed(
    store: MemoryStore | SqliteStore,
) -> None:
    healed: list[int] = []

    def work_on(item: int) -> int:
        return item if healed else picky(-item)

    fan = Parallel("fan", step("work", work_on, inline=True), over="n", failures="bad", workers=1)
    chain = Chain("chain", [fan])
    async with running(store, chain) as runner:
        run = await runner.start(chain, {"n": [1, 2]}, run_id="r1")
        with pytest.raises(RunFailed, match="2 of 2 items failed"):
            await run.result()
        assert (await store.info("r1")).status is RunStatus.FAILED
        healed.append(1)
        assert (await (await runner.resume("r1")).result())["fan"] == [1, 2]


# values that are too large together

TEXT = "x" * 298  # 300 bytes of JSON: three fit into 1,000 with what is around them


def text(calls: list[int]) -> Callable[[int], str]:
    def make(item: int) -> str:
        calls.append(item)
        return TEXT

    return make


def small(**options: Any) -> MemoryStore:
    return MemoryStore(max_value=1000, warn_value=None, **options)


def summed(state: State, values: Any) -> Mapping[str, object]:
    return {"sum": sum(map(len, values))}


def writing(state: State) -> dict[str, object]:
    return {"text": TEXT}


class TypedList(BaseModel):
    n: list[int]
    fan: list[str] = []


class TypedDict(BaseModel):
    n: list[int]
    fan: dict[str, str] = {}


class Typed(BaseModel):
    n: list[int]
    fan: Annotated[list[str], Append] = []


def failing(item: int) -> None:
    raise ValueError(f"{item} {TEXT}")


def nested(worker: Any) -> Parallel:
    inner = Parallel("inner", worker, over=lambda _: range(8))
    return Parallel("fan", Chain("chain", [inner]), over="n")


FITTING: dict[str, Callable[[Any], Any]] = {
    "a list": lambda worker: Parallel("fan", worker, over="n"),
    "a dict": lambda worker: Parallel("fan", worker, over="n", key=str),
    "a field": lambda worker: Parallel("fan", worker, over="n", state=TypedList),
    "a dict that is a field": lambda worker: Parallel("fan", worker, over="n", key=str, state=TypedDict),
    "failures": lambda _: Parallel("fan", step("fail", failing), over="n", failures="bad", may_all_fail=True),
    "values of patterns": lambda _: Parallel("fan", Chain("chain", [step("text", writing, inline=True)]), over="n"),
    "values of branches": lambda worker: Parallel("fan", {"one": Parallel("inner", worker, over="n")}),
    "values of fan-outs": nested,
    "merge": lambda worker: Parallel("fan", worker, over="n", merge=summed),
    "a list that grows": lambda worker: Parallel("fan", worker, over="n", types={"fan": Annotated[list[str], Append]}),
    "a list of a model that grows": lambda worker: Parallel("fan", worker, over="n", state=Typed),
}


@pytest.mark.parametrize("make", FITTING.values(), ids=FITTING.keys())
async def test_values_of_items_may_be_larger_together_than_one_value(make: Callable[[Any], Any]) -> None:
    fan, store = make(step("text", lambda _: TEXT, inline=True)), small()
    async with running(store, fan) as runner:
        await (await runner.start(fan, {"n": list(range(8))}, run_id="r1")).result()
    async with running(store, fan) as runner:  # as another process would find it
        state = await (await runner.get("r1")).result()
    given = state.model_dump()["n"] if isinstance(state, BaseModel) else state["n"]
    assert given == list(range(8))


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_values_of_many_items_have_a_row_each(tmp_path: Path) -> None:
    text = "x" * 1000
    fan = Parallel("fan", step("text", lambda _: text, inline=True), over=lambda _: range(5000), workers=16)
    wait = Chain("work", [fan, Wait("go")])
    async with running(SqliteStore(tmp_path / "runs.db", lock_timeout=0, durability="process"), wait) as runner:
        assert await (await runner.start(wait, run_id="r1")).settled() is RunStatus.WAITING
    store = SqliteStore(tmp_path / "runs.db", lock_timeout=0)
    async with running(store, wait) as runner:
        ref = (await store.load("r1")).root.refs["fan"]
        assert (ref.length, ref.maker) == (5000, 0)
        page = await store.elements("r1", "", "fan", after=4998)
        assert list(page.items) == [b'"%s"' % text.encode()] * 2
        await runner.answer("r1/go", None)
        assert len((await (await runner.get("r1")).result())["fan"]) == 5000


async def test_a_merge_whose_result_is_too_large_says_so() -> None:
    fan = Parallel("fan", step("text", lambda _: TEXT, inline=True), over="n", merge=lambda _, texts: {"t": texts})
    async with running(small(), fan) as runner:
        with pytest.raises(RunFailed, match="its values could not be put together: ValueTooLarge: t of 'fan'"):
            await (await runner.start(fan, {"n": list(range(8))})).result()


async def test_items_that_are_too_large_are_refused_before_any_work() -> None:
    calls: list[int] = []
    fan = Parallel("fan", step("text", text(calls), inline=True), over=lambda _: [1, "y" * 2000])
    async with running(small(), fan) as runner:
        with pytest.raises(RunFailed, match="its items could not be had: ValueTooLarge: item 1 of 'fan'"):
            await (await runner.start(fan)).result()
    assert calls == []
