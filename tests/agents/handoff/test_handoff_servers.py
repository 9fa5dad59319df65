"""An agent that takes a conversation over has its own MCP servers."""

import pytest
from tests._needs import need
from tests.agents._weather import results

from stagepost.agents import Agent, McpServer, ScriptedModel, call, handoff
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import Runner

need("mcp")

from mcp.server import MCPServer  # noqa: E402  # after it is known to be there


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def server() -> McpServer:
    made = MCPServer("bank")

    @made.tool()
    def pay(order: str) -> str:
        """Pay back."""
        return f"paid {order}"

    return McpServer.memory(made)


async def test_its_tools_are_offered_to_it_alone() -> None:
    refunds = Agent("refunds", "R.", tools=[server(), handoff("triage")])
    model = ScriptedModel([call("transfer_to_refunds"), call("pay", order="7"), call("transfer_to_triage"), "Bye."])
    triage = Agent("triage", "T.", model=model, tools=[handoff(refunds)])
    result = await triage.run("My money back!")
    assert results(list(result.messages))[1].text == "paid 7"
    offered = [[tool.name for tool in request.tools] for request in model.requests]
    assert offered == [
        ["transfer_to_refunds"],
        ["transfer_to_triage", "pay"],
        ["transfer_to_triage", "pay"],
        ["transfer_to_refunds"],
    ]
    async with MemoryStore() as store, Runner(store, workflows=[triage]) as runner:
        workflow = triage.as_workflow()
        state = await (await runner.start(workflow, workflow.accept("My money back!"))).result()
    assert results(list(state["messages"]))[1].text == "paid 7"
