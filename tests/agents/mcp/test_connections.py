import sys

import pytest

from stagepost.agents import McpConnections, McpServer, _mcp
from stagepost.workflows import ExtraMissing


async def test_a_missing_extra_is_one_sentence_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.delitem(sys.modules, "stagepost.agents._mcp._sdk", raising=False)
    monkeypatch.delattr(_mcp, "_sdk", raising=False)
    sentence = r"^McpServer needs mcp, which is not installed: .*pip install .*\[mcp\]'$"
    async with McpConnections([McpServer.stdio("clock")]) as connections:
        with pytest.raises(ExtraMissing, match=sentence):
            await connections.tools()


async def test_connections_have_to_be_entered() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        await McpConnections([]).tools()


async def test_no_servers_are_no_tools_and_need_no_extra() -> None:
    async with McpConnections([]) as connections:
        assert await connections.tools() == ()


async def test_an_error_of_the_body_leaves_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with McpConnections([]):
            raise KeyError
