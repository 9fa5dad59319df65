"""The process of a task is really killed; the next one sees where it stands before it goes on, and behind."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio import fail_after
from tests.agents._mortal import Notes
from tests.agents._talking import talker
from tests.checkpoint._processes import running

from stagepost.agents import Allow, Tasks, UserMessage
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

LIFE = "import sys, anyio; from tests.agents._talking import work; anyio.run(work, *sys.argv[1:])"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def killed(folder: Path, held: str, *arguments: str) -> None:
    async with running(LIFE, folder, held, *arguments) as process:
        assert (await process.line()).strip() == held
        await process.kill()


@asynccontextmanager
async def next_life(folder: Path) -> AsyncIterator[tuple[Tasks, Runner]]:
    agent = talker(Notes(folder))
    async with SqliteStore(folder / "runs.db") as store, Runner(store, workflows=[agent]) as runner:
        yield Tasks(runner), runner


@pytest.mark.parametrize(
    ("request_", "held", "status"),
    [
        pytest.param("hello", "ask 0", "pending", id="at its first answer"),
        pytest.param("send it", "send", "awaiting_tool", id="in a tool"),
        pytest.param("send it", "ask 1", "thinking", id="at its second answer"),
        pytest.param("pay it", "settled", "awaiting_approval", id="at an approval"),
    ],
)
async def test_p7_a_killed_task_stands_where_it_stood_until_it_is_recovered(
    tmp_path: Path, request_: str, held: str, status: str
) -> None:
    with fail_after(120):
        await killed(tmp_path, held, request_)
        async with next_life(tmp_path) as (tasks, runner):
            before = await tasks.get("t")
            assert (before.status, len(before.approvals)) == (status, status == "awaiting_approval")
            await runner.recover()
            for wanted in await tasks.approvals():
                assert (wanted.task_id, wanted.tool) == ("t", "pay")
                await tasks.decide(wanted.id, Allow())
            await (await runner.get("t")).result()
            assert (await tasks.get("t")).status == "completed"
    events = Notes(tmp_path).read()
    assert [events.count(once) for once in ("send", "pay")] == [request_.startswith(once) for once in ("send", "pay")]


async def test_p7_what_a_task_was_told_before_a_kill_is_heard_behind_it(tmp_path: Path) -> None:
    with fail_after(120):
        await killed(tmp_path, "settled", "pay it", "quickly")
        async with next_life(tmp_path) as (tasks, runner):
            await tasks.tell("t", "please")  # before anybody works on it again
            await runner.recover()
            (wanted,) = await tasks.approvals()
            await tasks.decide(wanted.id, Allow())
            messages = (await (await runner.get("t")).result())["messages"]
    said = [message.text for message in messages if isinstance(message, UserMessage)]
    assert sorted(said) == ["pay it", "please", "quickly"]


async def test_p7_a_task_that_was_killed_is_cancelled_without_being_recovered_and_followed_up(tmp_path: Path) -> None:
    with fail_after(120):
        await killed(tmp_path, "send", "send it")
        async with next_life(tmp_path) as (tasks, _):
            await tasks.cancel("t")
            assert (await tasks.get("t")).status == "cancelled"
            state = await (await tasks.follow_up("t", "and?")).result()
            assert state["output"] == "send it / and? / not called: the run ended before"
    assert Notes(tmp_path).read().count("send") == 1
