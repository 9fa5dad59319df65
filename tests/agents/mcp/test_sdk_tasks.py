"""Calls that their servers make tasks of: they are asked for, go on after a kill, and are ended with their run."""

import os
import sys
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from tests._needs import need
from tests.agents.mcp._clerk import at_work, clerk, ended, log, question, said
from tests.checkpoint._processes import running

from stagepost.agents import Agent, McpServer, Refuse, call

need("mcp")

WORKING = Path(__file__).parent / "_working.py"
ODD = Path(__file__).parent / "_odd.py"
LIFE = "import sys, anyio; from tests.agents.mcp.test_sdk_tasks import first_life as it; anyio.run(it, *sys.argv[1:])"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def site(folder: Path) -> McpServer:
    return McpServer.stdio(sys.executable, str(WORKING), str(folder), name="site", timeout=5)


async def until_logged(folder: Path, line: str, times: int = 1) -> None:
    while log(folder).count(line) < times:  # noqa: ASYNC110  # files have no events
        await anyio.sleep(0.01)


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("dig", "dig null"),
        ("break", "McpCallFailed: the ground is hard"),
        ("stop", "McpCallFailed: it rains"),
        ("lose", "McpCallFailed: unknown"),
        ("nonsense", "McpCallFailed: the server has answered something that the protocol does not know"),
    ],
)
async def test_a_call_that_becomes_a_task_has_its_result(tmp_path: Path, tool: str, told: str) -> None:
    with fail_after(60):
        result = await clerk(site(tmp_path), call(tool)).run("go")
    (found,) = [message for message in result.messages if message.role == "tool"]
    assert (result.output, found.text[: len(told)], found.is_error) == ("done", told, tool != "dig")
    assert log(tmp_path).count(f"calls {tool}") <= 1


async def test_what_a_task_asks_people_is_answered_through_the_inbox(tmp_path: Path) -> None:
    with fail_after(60):
        agent = clerk(site(tmp_path), call("ask"))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            asked = await question(tasks, runner)
            assert (asked.message, asked.server) == ("Sure?", "site")
            await tasks.answer(asked.id, {"sure": True})
            task = await ended(tasks, runner)
    assert said(task) == ['ask {"action": "accept", "content": {"sure": true}}']
    assert log(tmp_path).count("calls ask") == 1


async def test_a_server_that_never_ends_asking_is_given_up(tmp_path: Path) -> None:
    with fail_after(60):
        agent = clerk(site(tmp_path), call("nag"))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            for _ in range(50):
                await tasks.answer((await question(tasks, runner)).id, Refuse())
            (told,) = said(await ended(tasks, runner))
    assert "asked 50 times" in told


async def first_life(folder: str, tool: str) -> None:
    """Start a task, and wait to be killed."""
    agent = clerk(site(Path(folder)), call(tool))
    async with at_work(agent, Path(folder)) as (tasks, _):
        run = await tasks.start(agent, "go", task_id="t")
        await until_logged(Path(folder), f"asked for task-{tool}", 2)
        os.write(1, b"asked\n")
        await run.settled()
        await anyio.sleep_forever()


async def test_a_task_is_gone_on_with_after_a_kill_and_not_begun_again(tmp_path: Path) -> None:
    with fail_after(60):
        async with running(LIFE, tmp_path, "endless") as process:
            assert (await process.line()).strip() == "asked"
            await process.kill()
        (tmp_path / "task-endless").write_text('{"tool": "dig", "asked": 5, "said": null}')
        agent = clerk(site(tmp_path), call("endless"))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await runner.recover()
            assert said(await ended(tasks, runner)) == ["dig null"]
    assert log(tmp_path).count("calls endless") == 1


async def test_a_task_ends_with_the_run_that_was_cancelled(tmp_path: Path) -> None:
    with fail_after(60):
        agent = clerk(site(tmp_path), call("endless"))
        async with at_work(agent, tmp_path) as (tasks, _):
            await tasks.start(agent, "go", task_id="t")
            await until_logged(tmp_path, "asked for task-endless")
            await tasks.cancel("t")
            await until_logged(tmp_path, "cancels task-endless")


async def test_a_task_goes_on_when_only_the_process_ends(tmp_path: Path) -> None:
    with fail_after(60):
        agent = clerk(site(tmp_path), call("endless"))
        async with at_work(agent, tmp_path, grace=0) as (tasks, _):
            await tasks.start(agent, "go", task_id="t")
            await until_logged(tmp_path, "asked for task-endless")
    assert "cancels task-endless" not in log(tmp_path)


async def test_a_task_ends_with_a_run_in_memory_that_is_cancelled_while_its_connections_stay(tmp_path: Path) -> None:
    with fail_after(60):
        async with clerk(site(tmp_path), call("endless")) as agent, anyio.create_task_group() as group:
            group.start_soon(agent.run, "go")
            await until_logged(tmp_path, "asked for task-endless")
            group.cancel_scope.cancel()
    assert "cancels task-endless" in log(tmp_path)


async def test_a_tool_that_only_tasks_of_the_protocol_before_can_call_is_not_offered_and_that_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent: Agent[str] = clerk(McpServer.stdio(sys.executable, str(ODD), name="odd"), call("grow"), call("nothing"))
    with fail_after(60):
        await agent.run("go")
    told = [record.getMessage() for record in caplog.records if "mcp_tool_not_offered" in record.getMessage()]
    assert ["server=odd tool=task" in line for line in told] == [True]
