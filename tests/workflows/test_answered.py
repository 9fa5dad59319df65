"""A step that waits for answers in its middle."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from stagepost.checkpoint import AlreadyAnswered, CannotStore, RunNotOpen, RunStatus, SqliteStore
from stagepost.workflows import (
    AnswerTypes,
    Chain,
    ChainError,
    Inbox,
    Parallel,
    Runner,
    RunnerRequired,
    StepContext,
    step,
)

on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the store's


class Word(BaseModel):
    """What is answered."""

    text: str


async def ask_twice(state: Any, context: StepContext) -> dict[str, object]:
    first = await context.wait_for_answer("first", expect=Word, show={"for": state["name"]})
    second = await context.wait_for_answer("second", expect=Word, within=60, otherwise=Word(text="nobody"))
    return {"said": [first.text, second.text]}


asking = Chain("asking", [step("ask", ask_twice, answers=Word)])


@asynccontextmanager
async def runner_on(path: Path, now: list[float]) -> AsyncIterator[Runner]:
    async with SqliteStore(path) as store, Runner(store, workflows=[asking], clock=lambda: now[0]) as runner:
        yield runner


async def next_wait(runner: Runner, name: str) -> None:
    while [wait.name for wait in await runner.waits("r")] != [name]:
        await anyio.lowlevel.checkpoint()


@on_asyncio
async def test_step_waits_for_one_answer_after_the_other_over_restarts(tmp_path: Path) -> None:
    now = [1_000_000.0]
    with anyio.fail_after(10):
        async with runner_on(tmp_path / "runs.db", now) as runner:
            run = await runner.start(asking, {"name": "x"}, run_id="r")
            assert await run.settled() is RunStatus.WAITING
            (wait,) = await runner.waits("r")
            assert (wait.name, wait.shown, wait.due_at) == ("first", {"for": "x"}, None)
            assert (wait.id, wait.place, run.waits) == ("r/ask:first", "ask", (wait.id,))
            await runner.answer(wait.id, Word(text="one"), by="eve")
            await next_wait(runner, "second")
            for late in (wait.id, "r/ask"):
                with pytest.raises(AlreadyAnswered):
                    await runner.answer(late, Word(text="one again"))
        async with runner_on(tmp_path / "runs.db", now) as runner:
            (wait,) = await runner.waits("r")
            with pytest.raises(CannotStore):
                await runner.answer(wait.id, {"text": 1})
            await runner.answer(wait.id, {"text": "two"})
            assert (await (await runner.get("r")).result())["said"] == ["one", "two"]


@on_asyncio
async def test_step_gets_the_otherwise_when_the_time_is_up(tmp_path: Path) -> None:
    now = [1_000_000.0]
    with anyio.fail_after(10):
        async with runner_on(tmp_path / "runs.db", now) as runner:
            run = await runner.start(asking, {"name": "x"}, run_id="r")
            await run.settled()
            await runner.answer((await runner.waits("r"))[0].id, Word(text="one"))
            await next_wait(runner, "second")
        now[0] += timedelta(minutes=2).total_seconds()
        async with runner_on(tmp_path / "runs.db", now) as runner:
            await runner.recover()
            assert (await (await runner.get("r")).result())["said"] == ["one", "nobody"]


@on_asyncio
async def test_items_wait_for_answers_of_their_own(tmp_path: Path) -> None:
    async def ask(item: str, context: StepContext) -> str:
        word: Word = await context.wait_for_answer("word", expect=Word, show=item)
        return f"{item}:{word.text}"

    each = Parallel("each", step("ask", ask, answers=Word), over="names", into="said")
    with anyio.fail_after(10):
        async with SqliteStore(tmp_path / "runs.db") as store, Runner(store, workflows=[each]) as runner:
            run = await runner.start(each, {"names": ["a", "b"]}, run_id="r")
            await run.settled()
            for wait in await runner.waits("r"):
                await runner.answer(wait.id, Word(text=wait.shown.upper()))
            assert (await run.result())["said"] == ["a:A", "b:B"]


async def test_run_in_memory_cannot_be_answered() -> None:
    with pytest.raises(ChainError) as raised:
        await asking.run({"name": "x"})
    assert isinstance(raised.value.__cause__, RunnerRequired)


class Count(BaseModel):
    """What else is answered."""

    n: int


def by_question(key: str, shown: Any) -> Any:
    return Word if key == "word" else Count if shown == "a number" else None


async def ask_three(_: Any, context: StepContext) -> dict[str, object]:
    word = await context.wait_for_answer("word", expect=Word)
    count = await context.wait_for_answer("other", expect=Count, show="a number")
    return {"said": [word.text, count.n, await context.wait_for_answer("any")]}


several = Chain("several", [step("ask", ask_three, answers=AnswerTypes(by_question))])


@on_asyncio
@pytest.mark.parametrize("elsewhere", [False, True], ids=["runner", "inbox of another process"])
async def test_a_step_may_ask_for_answers_of_several_types(tmp_path: Path, elsewhere: bool) -> None:  # noqa: FBT001  # a parameter of the table
    file = tmp_path / "runs.db"
    with anyio.fail_after(60):
        async with (
            SqliteStore(file) as store,
            Runner(store, workflows=[several]) as runner,
            SqliteStore.inbox(file) as other,
        ):
            inbox = Inbox(other, workflows=[several]) if elsewhere else runner
            run = await runner.start(several, run_id="r")
            await run.settled()
            for name, wrong, right in (
                ("word", 1, Word(text="one")),
                ("other", {"n": "x"}, {"n": 2}),
                ("any", Word, ["three"]),
            ):
                await next_wait(runner, name)
                with pytest.raises(CannotStore):
                    await inbox.answer(f"r/ask:{name}", wrong)
                await inbox.answer(f"r/ask:{name}", right)
            assert (await run.result())["said"] == ["one", 2, ["three"]]
            with pytest.raises(RunNotOpen):
                await inbox.answer("r/ask:word", Word(text="again"))


@on_asyncio
async def test_an_answer_that_nobody_could_check_is_held_against_its_question(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    with anyio.fail_after(60):
        async with SqliteStore(file) as store, Runner(store, workflows=[several]) as runner:
            run = await runner.start(several, run_id="r")
            await run.settled()
            async with SqliteStore.inbox(file) as other:
                await Inbox(other).answer("r/ask:word", {"text": 1})
                while not any(wait.refused for wait in await runner.waits("r")):
                    await anyio.lowlevel.checkpoint()
                await Inbox(other).answer("r/ask:word", {"text": "one"})
                await next_wait(runner, "other")
            await runner.answer("r/ask:other", {"n": 2})
            await next_wait(runner, "any")
            await runner.answer("r/ask:any", None)
            assert (await run.result())["said"] == ["one", 2, None]


async def test_a_worker_sees_the_state_around_it() -> None:
    async def look(item: int, context: StepContext) -> int:
        return item + int(context.outer_state["more"])

    async def alone(_: Any, context: StepContext) -> dict[str, object]:
        return {"none": context.outer_state is None}

    work = Chain("work", [alone, Parallel("each", step("look", look), over="items", into="found")])
    state = await work.run({"items": [1, 2], "more": 10})
    assert (state["found"], state["none"]) == ([11, 12], True)
