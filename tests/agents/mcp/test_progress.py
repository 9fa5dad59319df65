"""How far calls are, as servers report it: hooks are told."""

from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp.server import MCPServer  # after the check
from mcp.server.mcpserver import Context  # after the check
from tests.agents._hearing import Hear, both_hear, progress  # after the check
from tests.agents.mcp._clerk import at_work, clerk, ended, said, stdio  # after the check

from stagepost.agents import (  # after the check
    Agent,
    InvalidAgent,
    McpServer,
    ProgressHook,
    ScriptedModel,
    ToolContext,
    ToolProgress,
    call,
)
from stagepost.agents._live._told import ProgressMade  # after the check

STEPS = [ToolProgress("slow", step, 3, f"step {step}") for step in (1, 2, 3)]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Heard:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[ToolProgress] = []
        self.contexts: list[ToolContext] = []

    async def tool_progress(self, progress: ToolProgress, context: ToolContext) -> None:
        self.told.append(progress)
        self.contexts.append(context)


class Broken:
    async def tool_progress(self, progress: ToolProgress, context: ToolContext) -> None:
        raise ValueError(progress.tool, context.agent)


def digging() -> MCPServer[Any]:
    server = MCPServer("digging")

    @server.tool()
    async def dig(context: Context[Any, Any]) -> str:
        await context.report_progress(0.5, None, "open-sesame-4711")
        return "dug"

    return server


@pytest.mark.parametrize("era", ["new", "old"])
async def test_hooks_are_told_how_far_a_call_is(tmp_path: Path, era: str) -> None:
    heard = Heard()
    with fail_after(60):
        agent = clerk(stdio(tmp_path, era), call("slow", city="x"), hooks=[heard])
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            assert said(await ended(tasks, runner)) == ["slow"]
    assert sorted(heard.told, key=lambda each: each.progress) == STEPS
    assert {(each.run_id, each.agent, each.turn) for each in heard.contexts} == {("t", "clerk", 1)}


async def test_secrets_are_masked_and_errors_of_hooks_concern_nobody(caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard()
    model = ScriptedModel([call("dig"), "done"])
    agent = Agent("a", "", model=model, tools=[McpServer.memory(digging())], hooks=[Broken(), heard])
    with fail_after(10):
        result = await agent.run("go", secrets={"key": "open-sesame-4711"})
    assert (result.output, heard.told) == ("done", [ToolProgress("dig", 0.5, None, "***")])
    assert "progress_hook_failed" in caplog.text


@both_hear
async def test_those_who_listen_to_the_run_are_told(hear: Hear) -> None:
    agent = Agent("a", "", model=ScriptedModel([call("dig"), "done"]), tools=[McpServer.memory(digging())])
    told = await hear(agent, secrets={"key": "open-sesame-4711"})
    assert progress(told) == [ProgressMade("a", ("a",), "call-0-0", "0-0", "dig", 0.5, None, "***")]


async def test_inherited_hooks_are_told_of_calls_below() -> None:
    class Inherited(Heard):
        inherited = True

    heard = Inherited()
    below = Agent("below", "", model=ScriptedModel([call("dig"), "dug"]), tools=[McpServer.memory(digging())])
    model = ScriptedModel([call("message_agent", agent_name="below", message="dig"), "done"])
    with fail_after(10):
        await Agent("lead", "", model=model, sub_agents=[below], hooks=[heard]).run("go")
    assert [each.agent for each in heard.contexts] == ["below"]


def test_a_hook_with_other_parameters_is_refused() -> None:
    class Odd:
        async def tool_progress(self, progress: ToolProgress) -> None: ...

    with pytest.raises(InvalidAgent, match=r"Odd.tool_progress.*progress, context"):
        Agent("a", "", hooks=[Odd()])
    assert isinstance(Heard(), ProgressHook)
