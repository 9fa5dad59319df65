"""Sizes are seen to before values are committed: too large fails the step and names it, large is told."""

from typing import Annotated

import pytest
from anyio import fail_after
from tests.workflows._words import PATIENCE, Recorder, running

from stagepost.checkpoint import MemoryStore, RunStatus, ValueTooLarge
from stagepost.workflows import (
    Append,
    Chain,
    ChainError,
    Graph,
    LargeValue,
    Parallel,
    Pattern,
    RunFailed,
    State,
    StepContext,
    Wait,
    step,
)

TOO_LARGE, LARGE = "x" * 999, "x" * 400


def small_store() -> MemoryStore:
    return MemoryStore(max_value=1000, warn_value=300)


async def load(state: State) -> dict[str, object]:
    return {"ok": 1, "blob": TOO_LARGE}


def one_by_one(item: int) -> str:
    return TOO_LARGE if item == 1 else "ok"


async def keep(state: State) -> None:
    return None


def graph() -> Pattern:
    made = Graph("work")
    made.add("load", load)
    made.start("load")
    made.finish("load")
    return made


FAILING = {
    "a step": (Chain("work", [load]), "blob of 'load' cannot be stored: it has 1,001 bytes"),
    "a node": (graph(), "blob of 'load'"),
    "a worker": (
        Parallel("work", step("one", one_by_one), over=lambda _: [0, 1], into="out"),
        r"the value of 'work\[1\]'",
    ),
    "an item": (Parallel("work", step("one", keep), over=lambda _: [TOO_LARGE], into="out"), "item 0 of 'work'"),
    "an item's step": (
        Parallel("work", Chain("inner", [load]), over=lambda _: [0], into="out"),
        r"blob of 'work\[0\]/load'",
    ),
}


@pytest.mark.parametrize(("work", "words"), FAILING.values(), ids=FAILING)
async def test_what_is_too_large_fails_the_run_and_is_named(work: Pattern, words: str) -> None:
    store = small_store()
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="run")
        with pytest.raises(RunFailed, match=words):
            await run.result()
        assert (await store.info("run")).status is RunStatus.FAILED
        assert all(len(data) <= 1000 for data in (await store.load("run")).root.state.values())


async def test_the_error_of_a_step_has_its_cause() -> None:
    work = Chain("work", [load])
    async with running(small_store(), work) as runner:
        with pytest.raises(RunFailed) as caught:
            await (await runner.start(work)).result()
    chain = caught.value.__cause__
    assert isinstance(chain, ChainError)
    assert isinstance(chain.__cause__, ValueTooLarge)


async def test_a_failed_item_can_be_collected() -> None:
    work = Parallel("work", step("one", one_by_one), over=lambda _: [0, 1], into="out", failures="failed")
    async with running(small_store(), work) as runner:
        state = await (await runner.start(work)).result()
    assert state["out"] == ["ok"]
    assert len(state["failed"]) == 1


async def test_what_is_large_is_told_to_observers() -> None:
    async def load_large(state: State) -> dict[str, object]:
        return {"small": "x", "large": LARGE}

    recorder, work = Recorder(), Chain("work", [load_large, keep])
    async with running(small_store(), work, observer=recorder) as runner:
        await (await runner.start(work, run_id="run")).result()
    (told,) = recorder.of(LargeValue)
    assert (told.run_id, told.path, told.name, told.size) == ("run", "load_large", "large", 402)


async def test_of_a_list_that_grows_each_element_counts() -> None:
    async def say(state: State) -> dict[str, object]:
        return {"said": [LARGE]}

    work = Chain("work", [step(f"say-{n}", say) for n in range(5)], types={"said": Annotated[list[str], Append]})
    async with running(small_store(), work) as runner:
        assert len((await (await runner.start(work)).result())["said"]) == 5


async def test_an_input_that_is_too_large_is_refused() -> None:
    work, store = Chain("work", [keep]), small_store()
    async with running(store, work) as runner:
        with pytest.raises(ValueTooLarge, match="blob of the input of 'work'"):
            await runner.start(work, {"blob": TOO_LARGE})
        assert (await store.find()).items == ()


async def test_an_answer_that_is_too_large_is_refused_and_the_wait_stays_open() -> None:
    work = Chain("work", [Wait("approval", expect=str)])
    async with running(small_store(), work) as runner:
        run = await runner.start(work, run_id="run")
        await run.settled()
        with pytest.raises(ValueTooLarge, match="the answer to run/approval"):
            await runner.answer("run/approval", TOO_LARGE)
        await runner.answer("run/approval", "yes")
        assert await run.result() == {"approval": "yes"}


async def test_what_a_wait_shows_and_what_an_effect_returns_count() -> None:
    async def buy(state: State, context: StepContext) -> None:
        await context.once("order", lambda: TOO_LARGE)

    for work, words in (
        (Chain("work", [Wait("approval", expect=str, show=lambda _: TOO_LARGE)]), "what 'approval' shows"),
        (Chain("work", [buy]), "what effect 'order' of 'buy' returned"),
    ):
        async with running(small_store(), work) as runner:
            with pytest.raises(RunFailed, match=words):
                await (await runner.start(work)).result()


async def test_in_memory_the_same_limits_hold() -> None:
    async def load_much(state: State) -> dict[str, object]:
        return {"blob": "x" * 5_000_000}

    with fail_after(PATIENCE), pytest.raises(ChainError, match="blob of 'load_much' cannot be stored"):
        await Chain("work", [load_much]).run()
