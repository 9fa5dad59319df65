"""A server's tool as a tool of ours, so that nothing else has to know where a tool comes from."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from stagepost.hub import describe_error

from .._tools._returned import ToolResult
from .._tools._tool import Tool
from ..errors import McpCallFailed, ToolClash
from ._names import tool_name
from ._remote import RemoteResult, RemoteTool
from ._schema import read_schema
from ._server import McpServer

CallRemote: TypeAlias = Callable[[str, Mapping[str, object]], Awaitable[RemoteResult]]


class FoundTool(NamedTuple):
    """A tool and where it comes from.

    Attributes:
        tool: The tool.
        origin: Server and name there, for errors.
    """

    tool: Tool[..., object]
    origin: str


def found_tool(server: McpServer, remote: RemoteTool, call: CallRemote) -> FoundTool:
    """Make a tool of a server's.

    Args:
        server: The server.
        remote: Its tool.
        call: Calls a tool of the server by the server's name for it.
    """

    async def function(**arguments: object) -> str | ToolResult:
        result = await call(remote.name, arguments)
        if not result.is_error:
            return ToolResult(result.text, parts=result.parts) if result.parts else result.text
        error = McpCallFailed(server.name, remote.name, result.text)
        if result.parts:
            return ToolResult(describe_error(error), is_error=True, parts=result.parts)
        raise error

    idempotent = server.is_idempotent(remote.name, marked=remote.marked_idempotent)
    made: Tool[..., object] = Tool(
        name=tool_name(server.prefix, remote.name),
        description=remote.description,
        idempotent=idempotent,
        timeout=server.timeout,
        function=function,
        _arguments=read_schema(remote.schema),
        needs_approval=server.asks_approval(remote.name),
        on_unknown="tell" if idempotent else server.on_unknown,
        retries=server.retries,
    )
    return FoundTool(made, f"{remote.name!r} of MCP server {server.name!r}")


def refuse_clashes(found: Iterable[FoundTool], *, beside: Sequence[Tool[..., object]], reserved: Iterable[str]) -> None:
    """See that the model can tell the tools apart.

    Raises:
        ToolClash: It cannot.
    """
    origins = dict.fromkeys(reserved, "a name that every agent needs for itself")
    origins |= {tool.name: "a tool of the agent's own" for tool in beside}
    for tool, origin in found:
        if tool.name in origins:
            raise ToolClash(tool.name, origins[tool.name], origin)
        origins[tool.name] = origin
