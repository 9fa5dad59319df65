"""A server's tool as a tool of ours, so that nothing else has to know where a tool comes from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import ClassVar, NamedTuple

from stagepost._dataclasses import dataclass

from .._tools._outside import Outside, WaitingTool
from .._tools._returned import ToolResult
from .._tools._tool import Tool
from ..errors import NobodyToAnswer, ToolClash
from ._names import tool_name
from ._remote import Asked, Remote, RemoteTool
from ._rounds import Callee, Rounds, told
from ._schema import read_schema
from ._server import McpServer


class FoundTool(NamedTuple):
    """A tool and where it comes from.

    Attributes:
        tool: The tool.
        origin: Server and name there, for errors.
    """

    tool: Tool[..., object]
    origin: str


@dataclass(frozen=True, eq=False)
class McpTool(WaitingTool):
    """A tool of a server, whose calls may wait for what the server asks people.

    Attributes:
        callee: The tool as its server's.
    """

    leaves_mark: ClassVar[bool] = True

    callee: Callee = field(kw_only=True, repr=False)

    async def call(self, arguments: Mapping[str, object], outside: Outside) -> ToolResult:
        """Make a call, in as many rounds as it takes."""
        return await Rounds(self, self.callee, arguments, outside).result()


def found_tool(server: McpServer, tool: RemoteTool, remote: Remote) -> FoundTool:
    """Make a tool of a server's.

    Args:
        server: The server.
        tool: Its tool.
        remote: The connection to it.
    """

    async def function(**arguments: object) -> str | ToolResult:
        result = await remote.call(tool.name, arguments)
        if isinstance(result, Asked):
            raise NobodyToAnswer("", tool.name)
        return told(result, server.name, tool.name)

    idempotent = server.is_idempotent(tool.name, marked=tool.marked_idempotent)
    made = McpTool(
        name=tool_name(server.prefix, tool.name),
        description=tool.description,
        idempotent=idempotent,
        timeout=server.timeout,
        function=function,
        _arguments=read_schema(tool.schema),
        needs_approval=server.asks_approval(tool.name),
        on_unknown="tell" if idempotent else server.on_unknown,
        retries=server.retries,
        callee=Callee(server, tool.name, remote),
    )
    return FoundTool(made, f"{tool.name!r} of MCP server {server.name!r}")


def refuse_clashes(
    found: Iterable[FoundTool],
    *,
    beside: Sequence[Tool[..., object]],
    reserved: Iterable[str],
    inputs: Iterable[str] = (),
) -> None:
    """See that the model can tell the tools apart.

    Args:
        found: Tools of servers or toolsets.
        beside: The agent's own.
        reserved: Names that the agent needs itself.
        inputs: Names of the inputs of its programs.

    Raises:
        ToolClash: It cannot.
    """
    origins = dict.fromkeys(reserved, "a name that every agent needs for itself")
    origins |= dict.fromkeys(inputs, "an input of the agent's programs")
    origins |= {tool.name: "a tool of the agent's own" for tool in beside}
    for tool, origin in found:
        if tool.name in origins:
            raise ToolClash(tool.name, origins[tool.name], origin)
        origins[tool.name] = origin
