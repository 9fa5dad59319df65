"""What an agent is given, in the forms that it may be given in, as it is kept."""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from .._definition._approvals import Approvals
from .._mcp import McpServer
from .._tools._tool import Tool, ToolLike, as_tool
from ..errors import InvalidAgent

T = TypeVar("T")


class GivenTools(NamedTuple):
    """What an agent's model may call.

    Attributes:
        tools: Tools of this process.
        servers: Servers that have more.
    """

    tools: tuple[Tool[..., object], ...]
    servers: tuple[McpServer, ...]


def read_tools(agent: str, given: Iterable[ToolLike | McpServer]) -> GivenTools:
    """Tools and servers, told apart.

    Raises:
        InvalidAgent: Something is neither, and cannot be called.
        InvalidTool: A plain function cannot be a tool.
    """
    tools: list[Tool[..., object]] = []
    servers: list[McpServer] = []
    for each in given:
        if isinstance(each, McpServer):
            servers.append(each)
        elif callable(each):
            tools.append(as_tool(each))
        else:
            raise InvalidAgent(
                agent,
                f"tools holds {each!r}, which cannot be called: give functions, tools and servers here, "
                "agents in sub_agents=, or as AgentTool(agent)",
            )
    return GivenTools(tuple(tools), tuple(servers))


def read_approvals(agent: str, given: Approvals | Iterable[str] | None) -> Approvals:
    """Rules, also from patterns alone.

    Raises:
        InvalidAgent: It is one text, or holds something else than texts.
    """
    if isinstance(given, Approvals):
        return given
    try:
        return Approvals(() if given is None else given)
    except TypeError as error:
        raise InvalidAgent(agent, f"approvals: {error}") from None


def listed(agent: str, what: str, given: Iterable[T]) -> tuple[T, ...]:
    """Several of something.

    Raises:
        InvalidAgent: It is one text, whose letters would each be one.
    """
    if isinstance(given, str):
        raise InvalidAgent(agent, f"{what}={given!r} is one text: use a list, [{given!r}]")
    return tuple(given)
