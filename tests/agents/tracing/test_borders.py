"""How traces cross borders: into MCP servers, model gateways, and runs that requests over the hub start."""

from typing import Any

import pytest
from anyio import fail_after

from stagepost.agents import Agent, LiteLLM, McpServer, ModelRequest, ScriptedModel, UserMessage, call
from stagepost.agents._tracing._current import enter, leave
from stagepost.agents._tracing._observation import TraceContext
from stagepost.agents.testing import LocalServer
from stagepost.checkpoint import MemoryStore
from stagepost.hub import Hub
from stagepost.workflows import Chain, Runner, step

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp.server import MCPServer  # after the check
from mcp.server.mcpserver import Context  # after the check

HERE = TraceContext("0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def digging(seen: list[Any]) -> MCPServer[Any]:
    server = MCPServer("digging")

    @server.tool()
    async def dig(context: Context[Any, Any]) -> str:
        seen.append(dict(context.request_context.meta or {}))
        return "dug"

    return server


@pytest.mark.parametrize("traced", [True, False])
async def test_a_call_of_an_mcp_server_names_the_span_that_it_belongs_below(traced: bool) -> None:  # noqa: FBT001  # a table
    seen: list[Any] = []
    agent = Agent("a", "", model=ScriptedModel([call("dig"), "done"]), tools=[McpServer.memory(digging(seen))])
    token = enter(HERE) if traced else None
    with fail_after(10):
        assert (await agent.run("go")).output == "done"
    if token is not None:
        leave(token)
    assert [meta.get("traceparent") for meta in seen] == [HERE.traceparent if traced else None]


@pytest.mark.parametrize(("asked", "told"), [(True, HERE.traceparent), (False, None)], ids=["if asked for", "else not"])
async def test_a_gateway_is_told_the_trace_if_asked_for(asked: bool, told: str | None) -> None:  # noqa: FBT001  # a table
    with fail_after(60):
        async with (
            LocalServer(["fine", "fine"]) as server,
            LiteLLM(
                "openai/local",
                api_base=server.url,
                api_key="none",
                propagate_trace=asked,
                options={"extra_headers": {"x-team": "a"}},
            ) as model,
        ):
            request = ModelRequest(messages=(UserMessage(text="hi"),))
            await model.answer(request)
            token = enter(HERE)
            await model.answer(request)
            leave(token)
    assert [each.headers.get("traceparent") for each in server.requests] == [None, told]
    assert {each.headers["x-team"] for each in server.requests} == {"a"}


@pytest.mark.parametrize(
    ("headers", "belongs"),
    [
        ({"traceparent": HERE.traceparent}, HERE.traceparent),
        ({"traceparent": "00-00000000000000000000000000000000-00f067aa0ba902b7-01"}, "mine"),
        ({"traceparent": "nonsense"}, "mine"),
        ({}, "mine"),
    ],
    ids=["valid", "zeros", "nonsense", "none"],
)
async def test_a_run_that_a_request_starts_belongs_to_the_trace_that_its_header_names(
    headers: dict[str, str], belongs: str
) -> None:
    seen: list[str] = []
    work = Chain("work", [step("note", lambda _, context: seen.append(context.trace), inline=True)])
    with fail_after(10):
        async with MemoryStore() as store, Hub() as hub, Runner(store, hub=hub) as runner:
            await runner.serve(work)
            await hub.request("work", {}, headers=headers, trace="mine")
    assert seen == [belongs]
