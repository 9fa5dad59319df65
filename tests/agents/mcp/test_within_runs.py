"""Servers within runs: their instructions, tools that change, and connections that outlive a run in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from tests.agents._weather import results
from tests.agents.mcp import _programs
from tests.agents.mcp._calling import gone, is_alive

from stagepost.agents import (
    Agent,
    McpServer,
    ModelMissing,
    ModelRequest,
    ScriptedModel,
    ToolCall,
    ToolContext,
    ToolMessage,
    call,
)

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import mcp_types as types  # after the skip
from mcp import MCPError  # after the skip
from mcp.client.subscriptions import SubscriptionLost  # after the skip
from mcp.server import MCPServer, Server  # after the skip
from mcp.server.lowlevel.server import HandlerEntry  # after the skip
from mcp.server.mcpserver import Context  # after the skip
from tests.agents.mcp._foreign import build, said  # after the skip

from stagepost.agents._mcp._sdk import open_link  # after the skip
from stagepost.agents._mcp._sdk_content import needs_task  # after the skip
from stagepost.agents._mcp._sdk_listing import News  # after the skip

FOREIGN = Path(__file__).parent / "_foreign.py"


def system_of(request: ModelRequest) -> str:
    return str(getattr(request.messages[0], "text", None))


def names(request: ModelRequest) -> list[str]:
    return [schema.name for schema in request.tools]


def growing() -> MCPServer[Any]:
    """A server that has another tool once it was called, and says so."""
    server = MCPServer("growing", instructions="Call grow first.")

    @server.tool()
    async def grow(context: Context[Any, Any]) -> str:
        def late() -> str:
            return "called"

        server.add_tool(late)
        await context.notify_tools_changed()
        return "grown"

    @server.tool()
    def wait() -> str:
        return "waited"

    return server


async def test_the_instructions_of_a_server_are_part_of_each_prompt() -> None:
    model = ScriptedModel([call("wait"), "done"])
    await Agent("a", "Be brief.", model=model, tools=[McpServer.memory(growing())]).run("?")
    told = "Be brief.\n\nInstructions of the server 'growing' for its tools:\nCall grow first."
    assert [system_of(request) for request in model.requests] == [told, told]


async def test_servers_without_instructions_change_no_prompt(tmp_path: Path) -> None:
    model = ScriptedModel(["done"])
    await Agent("a", "Be brief.", model=model, tools=[McpServer.memory(build(tmp_path))]).run("?")
    assert system_of(model.requests[0]) == "Be brief."


async def test_tools_that_a_server_gets_within_a_run_can_be_called_in_it() -> None:
    model = ScriptedModel([call("grow"), call("wait"), call("late"), "done"])
    with fail_after(10):
        result = await Agent("a", "", model=model, tools=[McpServer.memory(growing())]).run("?")
    assert names(model.requests[0]) == ["grow", "wait", *names(model.requests[0])[2:]]
    assert "late" in names(model.requests[2])
    assert [message.text for message in results(result)] == ["grown", "waited", "called"]


def odd(tools: list[types.Tool], *, answer: types.CallToolResult | None = None) -> Server[Any]:
    """A server whose tools are what a test wants."""

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools, ttl_ms=0, cache_scope="public")

    async def call_tool(_context: Any, _params: Any) -> types.CallToolResult:
        return answer or said("odd")

    return Server("odd", on_list_tools=list_tools, on_call_tool=call_tool)


async def test_a_tool_that_is_gone_is_an_error_that_the_model_reads_and_is_not_offered_again() -> None:
    server: MCPServer[Any] = MCPServer("shrinking")

    @server.tool()
    async def shrink(context: Context[Any, Any]) -> str:
        server.remove_tool("late")
        await context.notify_tools_changed()
        return "shrunk"

    @server.tool()
    def late() -> str:
        return "called"

    model = ScriptedModel([call("late"), call("shrink"), call("late"), "done"])
    with fail_after(10):
        result = await Agent("a", "", model=model, tools=[McpServer.memory(server)]).run("?")
    assert [("late" in names(request)) for request in model.requests] == [True, True, False, False]
    called, _, gone_ = results(result)
    assert (called.text, gone_.is_error, "no tool 'late'" in gone_.text) == ("called", True, True)


async def test_a_tool_that_goes_within_an_answer_is_an_error_of_its_call() -> None:
    server: MCPServer[Any] = MCPServer("shrinking")

    @server.tool()
    async def late() -> str:
        return "called"

    class Removing:
        async def tool_call(self, call: ToolCall, _context: ToolContext, proceed: Any) -> Any:
            server.remove_tool("late")
            return await proceed(call)

    model = ScriptedModel([call("late"), "done"])
    with fail_after(10):
        result = await Agent("a", "", model=model, tools=[McpServer.memory(server)], hooks=[Removing()]).run("?")
    (told,) = results(result)
    assert (result.output, told.is_error, "late" in told.text) == ("done", True, True)


def test_tools_that_can_only_be_called_as_tasks_are_not_offered() -> None:
    kinds: list[Any] = ["required", "optional", "forbidden", None]
    executions = [*(types.ToolExecution(task_support=kind) for kind in kinds), None]
    tools = [types.Tool(name="t", input_schema={"type": "object"}, execution=each) for each in executions]
    assert list(map(needs_task, tools)) == [True, False, False, False, False]


async def test_errors_of_servers_are_errors_with_their_parts() -> None:
    picture = types.ImageContent(data="YQ==", mime_type="image/png")
    answer = types.CallToolResult(content=[types.TextContent(text="out of paper"), picture], is_error=True)
    server = McpServer.memory(odd([types.Tool(name="print", input_schema={"type": "object"})], answer=answer))
    model = ScriptedModel([call("print"), "oh"])
    (message,) = results(await Agent("a", "", model=model, tools=[server]).run("?"))
    assert (message.text, message.is_error) == ("McpCallFailed: out of paper\n[image 1]", True)
    assert [part.data for part in message.parts] == [b"a"]
    sent = [message for message in model.requests[1].messages if isinstance(message, ToolMessage)]
    assert [part.data for part in sent[0].parts] == [b"a"]


async def pid_of(agent: Agent[str]) -> int:
    return int(results(await agent.run("?"))[0].text)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_open_agent_keeps_its_servers_between_runs_and_leaves_none_behind(tmp_path: Path) -> None:
    server = McpServer.stdio(*_programs.python(), str(FOREIGN), "stdio", str(tmp_path))
    agent = Agent("a", "", model=ScriptedModel([call("pid"), "done"]), tools=[server])
    other = ScriptedModel([call("pid"), "done"])
    with fail_after(60):
        async with agent as opened:
            assert opened is agent
            first, second = await pid_of(agent), await pid_of(agent)
            third = int(results(await agent.run("?", override_model=other))[0].text)
            assert first == second == third
            assert is_alive(first)
            with pytest.raises(RuntimeError, match="agent 'a' is open already: enter it once"):
                async with agent:
                    raise AssertionError
            assert await pid_of(agent) == first
        await gone(first)
        async with agent:
            fourth = await pid_of(agent)
        assert fourth != first
        fifth = await pid_of(agent)
        await gone(fifth)
    assert fifth != fourth


async def test_an_agent_without_servers_can_be_open() -> None:
    async with Agent("a", "", model=ScriptedModel(["done"])) as agent:
        assert (await agent.run("?")).output == "done"


async def test_an_agent_that_cannot_be_opened_can_be_later() -> None:
    agent = Agent("a", "")
    for _ in range(2):
        with pytest.raises(ModelMissing):
            async with agent:
                raise AssertionError
    await checkpoint()


async def test_servers_of_agents_below_are_kept_too() -> None:
    model = ScriptedModel([call("message_agent", message="go", agent_name="below"), "done"])
    asked = ScriptedModel([call("x_wait"), "waited"])
    below = Agent("below", "", description="Grows.", model=asked, tools=[McpServer.memory(growing(), prefix="x_")])
    async with Agent("lead", "", model=model, sub_agents=[below]) as lead:
        for _ in range(2):
            assert '"response":"waited"' in results(await lead.run("?"))[0].text
    assert [names(request)[:2] for request in asked.requests] == [["x_grow", "x_wait"]] * 4


class Telling:
    """A client whose server tells of changes as a script says: an event, or the error that the stream ends with."""

    def __init__(self, *script: object) -> None:
        self.script = list(script)
        self.opened = 0

    @asynccontextmanager
    async def listen(self, *, tools_list_changed: bool) -> AsyncIterator[AsyncIterator[None]]:
        assert tools_list_changed
        self.opened += 1
        yield self.events()

    async def events(self) -> AsyncIterator[None]:
        while self.script:
            event = self.script.pop(0)
            if isinstance(event, Exception):
                raise event
            yield None


@pytest.mark.parametrize(
    ("script", "opened", "are_others"),
    [
        ((), 1, False),
        (("changed",), 1, True),
        ((SubscriptionLost("gone"),), 2, True),
        ((MCPError(code=-1, message="nobody may listen"),), 1, False),
    ],
    ids=["nothing", "an event", "a lost stream", "a refusal"],
)
async def test_a_server_is_listened_to_as_long_as_it_tells(
    script: tuple[object, ...], opened: int, *, are_others: bool
) -> None:
    news, client = News(), Telling(*script)
    with fail_after(5):
        await news.listen(client)  # type: ignore[arg-type]  # of a client only this is needed
    assert (client.opened, news.take(), news.take()) == (opened, are_others, False)


async def test_tools_that_cannot_be_asked_for_again_stay_as_they_were() -> None:
    server = growing()
    async with open_link(McpServer.memory(server)) as link:
        before = await link.tools()
        link._news.note()

        async def fail(*_: object) -> None:
            raise ValueError("no list")

        server._lowlevel_server._request_handlers["tools/list"] = HandlerEntry(types.PaginatedRequestParams, fail)
        assert await link.tools() == before
        assert link._news.take()
