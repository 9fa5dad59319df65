from collections.abc import Mapping

import pytest

from stagepost.agents import McpServer, Retries, ToolClash, ToolContext, tool
from stagepost.agents._mcp._remote import ALONE, Asked, Continuation, Elicitation, RemoteResult, RemoteTool
from stagepost.agents._mcp._tools import FoundTool, found_tool, refuse_clashes
from stagepost.agents._tools._invoking import invoke

CONTEXT = ToolContext(run_id="run", agent="a", call_id="c", idempotency_key="k", deps=None)


class Echoing:
    """A connection whose calls say what they were given."""

    async def call(
        self, tool: str, arguments: Mapping[str, object], continuation: Continuation = ALONE
    ) -> RemoteResult | Asked:
        assert continuation == ALONE
        if tool == "asks":
            return Asked(how="again", requests={"a": Elicitation(message="Who?")})
        text = "" if tool == "quiet" else f"{tool}{dict(arguments)}"
        return RemoteResult(text, is_error=tool in ("fails", "quiet"))

    async def cancel(self, task: str) -> None:
        raise AssertionError(task)

    def holds(self, key: str) -> bool:
        raise AssertionError(key)


def found(server: McpServer, name: str) -> FoundTool:
    return found_tool(server, RemoteTool(name, "What it does.", {"type": "object"}, marked_idempotent=True), Echoing())


async def test_a_servers_tool_is_a_tool_like_any_other() -> None:
    server = McpServer.stdio("files", prefix="f_", timeout=7, needs_approval=["files.*"])
    made = found(server, "files.read").tool
    assert (made.name, made.description, made.timeout) == ("f_files_read", "What it does.", 7)
    assert (made.idempotent, made.needs_approval, made.is_async, made.takes_context) == (True, True, True, False)
    assert made.schema.parameters == {"type": "object", "properties": {}}
    assert await invoke(made, made.parse('{"context": 1, "self": 2, "a-b": 3}'), CONTEXT) == (
        "files.read{'context': 1, 'self': 2, 'a-b': 3}",
        False,
        (),
    )


def test_what_a_server_says_of_calls_in_doubt_and_retries_is_said_of_its_tools() -> None:
    server = McpServer.stdio("files", idempotent=["read"], on_unknown="park", retries=Retries(attempts=7))
    writing, reading = found(server, "write").tool, found(server, "read").tool
    assert (writing.idempotent, writing.on_unknown, writing.retries) == (False, "park", Retries(attempts=7))
    assert (reading.idempotent, reading.on_unknown, reading.retries) == (True, "tell", Retries(attempts=7))


async def test_what_the_server_calls_an_error_is_one_for_the_model() -> None:
    made = found(McpServer.stdio("files"), "fails").tool
    assert await invoke(made, {}, CONTEXT) == ("McpCallFailed: fails{}", True, ())


async def test_an_error_without_a_text_says_so() -> None:
    made = found(McpServer.stdio("files"), "quiet").tool
    assert await invoke(made, {}, CONTEXT) == ("McpCallFailed: quiet failed, and the server does not say why", True, ())


async def test_a_call_outside_of_a_run_that_is_asked_something_says_that_nobody_can_answer() -> None:
    result = await invoke(found(McpServer.stdio("files"), "asks").tool, {}, CONTEXT)
    assert (result.is_error, "NobodyToAnswer" in result.text) == (True, True)


@tool
def read(path: str) -> str:
    return path


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([found(McpServer.stdio("files"), "read")], ["own", "'read' of MCP server 'files'"]),
        ([found(McpServer.stdio("files"), "fail")], ["every agent", "'fail' of MCP server 'files'"]),
        (
            [found(McpServer.stdio("a"), "x.y"), found(McpServer.stdio("b"), "x_y")],
            ["'x.y' of MCP server 'a'", "'x_y' of MCP server 'b'", "prefix="],
        ),
    ],
    ids=["the agent's own", "reserved", "another server's"],
)
def test_two_tools_of_one_name_are_refused_and_both_are_named(tools: list[FoundTool], words: list[str]) -> None:
    with pytest.raises(ToolClash) as caught:
        refuse_clashes(tools, beside=[read], reserved=["fail"])
    assert [word for word in words if word not in str(caught.value)] == []
    assert caught.value.tool == tools[-1].tool.name


def test_a_prefix_tells_tools_apart() -> None:
    tools = [found(McpServer.stdio("files"), "read"), found(McpServer.stdio("more", prefix="m_"), "read")]
    refuse_clashes(tools, beside=[], reserved=["fail"])
