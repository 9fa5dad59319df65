"""Long results of MCP servers in the prompt."""

from pathlib import Path

import pytest
from tests.agents._ways import told
from tests.agents._weather import results

from stagepost.agents import Agent, ContextPolicy, McpServer, ScriptedModel, call

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from tests.agents.mcp._foreign import build  # after the skip

LONG = "".join(f"{number:04}," for number in range(1_000))


async def test_a_long_result_of_a_server_is_shown_in_part_and_read_on(tmp_path: Path) -> None:
    model = ScriptedModel([call("echo", text=LONG), call("read_result", result=2, offset=4_900), "read"])
    server = McpServer.memory(build(tmp_path))
    agent = Agent("reader", "Read.", model=model, tools=[server], context=ContextPolicy(result_limit=800))
    result = await agent.run("go")
    echoed, read = told(model.requests[-1])
    assert len(echoed) <= 800
    assert "read_result(result=2" in echoed
    assert read.endswith(LONG[4_900:])
    assert results(result)[0].text == LONG
