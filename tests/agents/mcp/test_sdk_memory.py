from importlib.metadata import version
from pathlib import Path

import anyio
import pytest
from tests.agents.mcp._calling import use, use_often
from tests.agents.test_fitting import root_problems

from stagepost.agents import McpConnections, McpServer, McpUnavailable, Tool, ToolClash, tool

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp.server import MCPServer, Server  # after the skip
from mcp.server.mcpserver import Context  # after the skip
from tests.agents.mcp._foreign import SCHEMAS, build  # after the skip


@tool
def echo(text: str) -> str:
    return text


async def test_all_pages_of_tools_become_tools_of_ours(tmp_path: Path) -> None:
    async with McpConnections([McpServer.memory(build(tmp_path))]) as connections:
        tools = await connections.tools()
    assert [made.name for made in tools] == [*list(SCHEMAS)[:-1], "kinds_of-content"]
    assert [made.idempotent for made in tools] == [True] + [False] * 6
    assert not [problem for made in tools for problem in root_problems(made.schema.parameters)]
    point = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    assert tools[-1].schema.parameters["properties"] == {"at": point}


async def test_only_tools_that_are_wanted_are_taken(tmp_path: Path) -> None:
    server = McpServer.memory(build(tmp_path), include=["e*", "p*"], exclude=["pid"], prefix="x_")
    async with McpConnections([server]) as connections:
        assert [made.name for made in await connections.tools()] == ["x_echo"]


async def test_calls_come_back_as_results_and_errors_as_errors(tmp_path: Path) -> None:
    async with McpConnections([McpServer.memory(build(tmp_path))]) as connections:
        tools = await connections.tools()
        with anyio.fail_after(5):
            assert await use(tools, "echo", text="hello") == ("hello", False, ())
            assert await use(tools, "refuse") == ("McpCallFailed: out of paper", True, ())
            assert (await use(tools, "break")).is_error
            assert (await use(tools, "echo")).is_error


async def test_every_kind_of_content_is_a_text_or_a_part(tmp_path: Path) -> None:
    async with McpConnections([McpServer.memory(build(tmp_path))]) as connections:
        told = await use(await connections.tools(), "kinds_of-content")
    assert told.text.splitlines() == [
        "text",
        "[image 1]",
        "[audio 2]",
        "[resource 'report': file:///report.txt]",
        "[resource: file:///a.txt, text/plain]",
        "A",
        "[file 3: a.bin]",
        '{"kinds":6}',
    ]
    assert [(part.media_type, part.data) for part in told.parts] == [
        ("image/png", b"hello"),
        ("audio/wav", b"hello!"),
        ("application/octet-stream", b"hi"),
    ]


async def test_two_hundred_calls_at_once_get_each_their_own_result(tmp_path: Path) -> None:
    async with McpConnections([McpServer.memory(build(tmp_path))]) as connections:
        with anyio.fail_after(10):
            results = await use_often(await connections.tools(), "echo", 200)
    assert [result.text for result in results] == [str(number) for number in range(200)]


async def test_a_tool_of_the_agents_own_name_is_refused(tmp_path: Path) -> None:
    async with McpConnections([McpServer.memory(build(tmp_path))]) as connections:
        with pytest.raises(ToolClash, match="'echo' of MCP server 'foreign'"):
            await connections.tools(beside=[echo])
        with pytest.raises(ToolClash, match="every agent needs"):
            await connections.tools(reserved=["pid"])


async def test_tools_of_two_servers_stand_in_the_order_of_the_servers(tmp_path: Path) -> None:
    servers = [McpServer.memory(build(tmp_path), prefix=prefix, include=["pid"]) for prefix in ("b_", "a_")]
    async with McpConnections(servers) as connections:
        assert [made.name for made in await connections.tools()] == ["b_pid", "a_pid"]


async def test_of_several_servers_that_are_missing_the_first_is_named(tmp_path: Path) -> None:
    servers = [McpServer.memory(build(tmp_path)), McpServer.stdio("no-such-b"), McpServer.stdio("no-such-a")]
    with anyio.fail_after(10):
        async with McpConnections(servers) as connections:
            with pytest.raises(McpUnavailable, match=r"there is no program 'no-such-b': install it"):
                await connections.tools()


async def test_a_server_without_tools_offers_none() -> None:
    async with McpConnections([McpServer.memory(Server("bare"))]) as connections:
        assert await connections.tools() == ()


async def test_a_call_that_takes_too_long_is_ended_and_the_next_one_goes_through(tmp_path: Path) -> None:
    async with McpConnections([McpServer.memory(build(tmp_path), timeout=1)]) as connections:
        tools = await connections.tools()
        with anyio.fail_after(5):
            held = await use(tools, "hold", name="held")
            assert (held.is_error, held.text) == (
                True,
                "timed out after 1 s: hold may or may not have taken effect",
            )
            assert (await use(tools, "echo", text="still here")).text == "still here"


async def test_a_tool_that_outlives_its_connections_says_that_they_are_closed(tmp_path: Path) -> None:
    async with McpConnections([McpServer.memory(build(tmp_path), retries=None)]) as connections:
        tools: tuple[Tool[..., object], ...] = tuple(await connections.tools())
    told = await use(tools, "echo", text="late")
    assert (told.is_error, "its connections are closed" in told.text) == (True, True)


async def test_being_cancelled_closes_everything(tmp_path: Path) -> None:
    with anyio.fail_after(5), anyio.move_on_after(0.2) as scope:
        async with McpConnections([McpServer.memory(build(tmp_path))]) as connections:
            await connections.tools()
            await anyio.sleep_forever()
    assert scope.cancelled_caught


async def test_connections_can_be_entered_again(tmp_path: Path) -> None:
    connections = McpConnections([McpServer.memory(build(tmp_path))])
    for _ in range(2):
        async with connections:
            assert await use(await connections.tools(), "echo", text="hello") == ("hello", False, ())


async def test_a_server_is_told_who_calls() -> None:
    server = MCPServer("who")

    @server.tool()
    def who(context: Context) -> str:
        told = context.session.client_params
        return "nobody" if told is None else f"{told.client_info.name} {told.client_info.version}"

    async with McpConnections([McpServer.memory(server)]) as connections:
        assert (await use(await connections.tools(), "who")).text == f"stagepost {version('stagepost')}"
