"""What a fan-out says of its items as a whole: all failed, too large together."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel
from tests.workflows._words import running

from stagepost.checkpoint import MemoryStore, RunStatus, SqliteStore, ValueTooLarge
from stagepost.workflows import (
    Append,
    Chain,
    ChainError,
    Parallel,
    ParallelError,
    RunFailed,
    State,
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


async def test_a_fan_out_ends_as_soon_as_its_values_are_too_large_together() -> None:
    calls: list[int] = []
    fan = Parallel("fan", step("text", text(calls), inline=True), over="n", into="texts", workers=1)
    store = small()
    async with running(store, Chain("chain", [fan]), fan) as runner:
        run = await runner.start(runner.workflow("chain"), {"n": list(range(50))})
        with pytest.raises(RunFailed) as caught:
            await run.result()
        assert (await store.info(run.id)).status is RunStatus.FAILED
    assert len(calls) == 4
    chain = caught.value.__cause__
    assert isinstance(chain, ChainError)
    error = chain.__cause__
    assert isinstance(error, ParallelError)
    assert isinstance(error.__cause__, ValueTooLarge)
    assert (error.__cause__.size, error.__cause__.largest) == (1205, 1000)
    told = str(caught.value)
    for part in (
        "'fan'",
        "texts of 'fan'",
        "after 4 of 50 items",
        "1,205 bytes",
        "takes 1,000",
        "max_value=",
        "merge=",
    ):
        assert part in told
    assert (len(error.accounts.ok), len(error.accounts.not_started)) == (4, 46)


async def test_several_workers_end_as_well() -> None:
    calls: list[int] = []
    fan = Parallel("fan", step("text", text(calls), inline=True), over="n", workers=4, key=str)
    async with running(small(), fan) as runner:
        with pytest.raises(RunFailed, match="bytes of JSON"):
            await (await runner.start(fan, {"n": list(range(50))})).result()
    assert len(calls) <= 8


async def test_values_of_patterns_count_as_well() -> None:
    calls: list[int] = []
    make = text(calls)
    inner = Chain("inner", [step("text", lambda state: {"text": make(state["item"])}, inline=True)])
    fan = Parallel("fan", inner, over="n", workers=1)
    async with running(small(), fan) as runner:
        with pytest.raises(RunFailed, match="after 4 of 50 items"):
            await (await runner.start(fan, {"n": list(range(50))})).result()


async def test_failures_that_are_collected_count_as_well() -> None:
    calls: list[int] = []

    def fail(item: int) -> None:
        calls.append(item)
        if item:
            raise ValueError(TEXT)

    fan = Parallel("fan", step("fail", fail, inline=True), over="n", failures="bad", workers=1)
    async with running(small(), fan) as runner:
        with pytest.raises(RunFailed, match="bad of 'fan'"):
            await (await runner.start(fan, {"n": list(range(50))})).result()
    assert len(calls) == 4


def summed(state: State, values: Any) -> Mapping[str, object]:
    return {"sum": sum(map(len, values))}


class Typed(BaseModel):
    n: list[int]
    fan: Annotated[list[str], Append] = []


FITTING: dict[str, Callable[[Any], Any]] = {
    "merge": lambda worker: Parallel("fan", worker, over="n", merge=summed),
    "a list that grows": lambda worker: Parallel("fan", worker, over="n", types={"fan": Annotated[list[str], Append]}),
    "a list of a model that grows": lambda worker: Parallel("fan", worker, over="n", state=Typed),
}


@pytest.mark.parametrize("make", FITTING.values(), ids=FITTING.keys())
async def test_values_that_are_not_stored_as_one_may_be_larger_together(make: Callable[[Any], Any]) -> None:
    fan = make(step("text", lambda _: TEXT, inline=True))
    async with running(small(), fan) as runner:
        await (await runner.start(fan, {"n": list(range(8))})).result()


async def test_a_merge_whose_result_is_too_large_says_so() -> None:
    fan = Parallel("fan", step("text", lambda _: TEXT, inline=True), over="n", merge=lambda _, texts: {"t": texts})
    async with running(small(), fan) as runner:
        with pytest.raises(RunFailed, match="its values could not be put together: ValueTooLarge: t of 'fan'"):
            await (await runner.start(fan, {"n": list(range(8))})).result()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_fan_out_that_was_too_large_goes_on_where_the_limit_is_higher(tmp_path: Path) -> None:
    calls: list[int] = []
    fan = Parallel("fan", step("text", text(calls), inline=True), over="n", workers=1)
    path = tmp_path / "runs.db"
    async with running(SqliteStore(path, max_value=1000, warn_value=None, lock_timeout=0), fan) as runner:
        run = await runner.start(fan, {"n": list(range(6))}, run_id="r1")
        with pytest.raises(RunFailed, match="after 4 of 6 items"):
            await run.result()
        with pytest.raises(RunFailed, match="after 4 of 6 items"):
            await (await runner.resume("r1")).result()
    assert len(calls) == 4
    async with running(SqliteStore(path, max_value=10_000, lock_timeout=0), fan) as runner:
        assert len((await (await runner.resume("r1")).result())["fan"]) == 6
    assert len(calls) == 6


async def test_items_that_are_too_large_are_refused_before_any_work() -> None:
    calls: list[int] = []
    fan = Parallel("fan", step("text", text(calls), inline=True), over=lambda _: [1, "y" * 2000])
    async with running(small(), fan) as runner:
        with pytest.raises(RunFailed, match="its items could not be had: ValueTooLarge: item 1 of 'fan'"):
            await (await runner.start(fan)).result()
    assert calls == []
