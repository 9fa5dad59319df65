"""Values that a step keeps for when it runs again, and whether its run was cancelled."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.workflows._words import Store, running

from stagepost.checkpoint import CannotStore, RunStatus, SqliteStore
from stagepost.workflows import Chain, Pattern, Run, RunFailed, Runner, State, StepContext, step

TOKEN = "open-sesame-4711"  # noqa: S105  # of nobody


def noting(seen: list[object]) -> Pattern:
    """A step that notes how often it has run, waits, and another one that has noted nothing."""

    async def count(_: State, context: StepContext) -> Mapping[str, object]:
        seen.append(context.noted("count"))
        await context.note("count", {"runs": len(seen)})
        first = await context.wait_for_answer("first", expect=str)
        await context.note("count", ["again", first])
        return {"second": await context.wait_for_answer("second", expect=str), "noted": context.noted("count")}

    def other(_: State, context: StepContext) -> Mapping[str, object]:
        return {"other": context.noted("count")}

    return Chain("work", [step("count", count, answers=str), step("other", other, inline=True)])


async def answered(runner: Runner, run: Run, value: str) -> None:
    assert await run.settled() is RunStatus.WAITING
    (wait,) = await runner.waits("r")
    await runner.answer(wait.id, value)


async def test_a_note_is_there_when_its_step_runs_again_and_for_no_other(store: Store) -> None:
    seen: list[object] = []
    work = noting(seen)
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r")
        for value in ("a", "b"):
            await answered(runner, run, value)
        state = await run.result()
    assert seen == [None, {"runs": 1}, ["again", "a"]]
    assert (state["noted"], state["other"], state["second"]) == (["again", "a"], None, "b")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_note_is_there_in_another_process(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        work = noting([])
        async with SqliteStore(tmp_path / "runs.db") as store, Runner(store, workflows=[work]) as runner:
            assert await (await runner.start(work, run_id="r")).settled() is RunStatus.WAITING
        seen: list[object] = []
        work = noting(seen)
        async with SqliteStore(tmp_path / "runs.db") as store, Runner(store, workflows=[work]) as runner:
            await runner.recover()
            await answered(runner, await runner.get("r"), "a")
            await (await runner.get("r")).settled()
    assert seen == [{"runs": 1}]


async def test_a_run_in_memory_has_its_notes_for_itself() -> None:
    async def go(_: State, context: StepContext) -> Mapping[str, object]:
        before = context.noted("n")
        await context.note("n", 7)
        return {"noted": [before, context.noted("n")], "cancelled": context.was_cancelled}

    state = await Chain("work", [step("go", go)]).run()
    assert (state["noted"], state["cancelled"]) == ([None, 7], False)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param({"a": TOKEN}, "secret 'token'", id="a secret"),
        pytest.param(object(), "no stored form|cannot be stored", id="no JSON"),
    ],
)
async def test_what_cannot_be_stored_is_no_note(store: Store, value: object, why: str) -> None:
    async def go(_: State, context: StepContext) -> None:
        try:
            await context.note("n", value)
        finally:
            assert context.noted("n") is None

    work = Chain("work", [step("go", go)])
    async with running(store, work, secrets={"token": TOKEN}) as runner:
        with pytest.raises(RunFailed, match=why) as caught:
            await (await runner.start(work)).result()
    assert "CannotStore" in str(caught.value) or isinstance(caught.value.__cause__, CannotStore)


@pytest.mark.parametrize(
    ("end", "was_cancelled"),
    [
        pytest.param(lambda runner: runner.cancel("r"), True, id="its end was requested"),
        pytest.param(None, False, id="only the process ends"),
    ],
)
async def test_a_step_that_is_cancelled_knows_whether_its_run_was(
    store: Store, end: Callable[[Runner], Any] | None, *, was_cancelled: bool
) -> None:
    entered, seen = anyio.Event(), []

    async def go(_: State, context: StepContext) -> None:
        entered.set()
        try:
            await anyio.sleep_forever()
        finally:
            seen.append(context.was_cancelled)

    work = Chain("work", [step("go", go)])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r")
        await entered.wait()
        if end is not None:
            await end(runner)
    assert seen == [was_cancelled]
