"""What an agent is given, in the forms that it may be given in, as it is kept."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias, TypeVar

from stagepost.hub import Duration, InvalidArgument, seconds

from .._definition._approvals import Approvals
from .._mcp import McpServer
from .._models._addresses import shown_address
from .._models._provider_tool import ProviderTool
from .._tools._step_tool import ToolGroup
from .._tools._tool import Tool, ToolLike, as_tool
from .._tools._toolset import Toolset
from ..errors import InvalidAgent

T = TypeVar("T")
ModelT = TypeVar("ModelT")

ToolSource: TypeAlias = ToolLike | ToolGroup | McpServer | Toolset | ProviderTool
"""What an agent can be given as tools."""


class GivenTools(NamedTuple):
    """What an agent's model may call.

    Attributes:
        tools: Tools of this process.
        toolsets: Sets of tools that depend on run and turn, and tools of the model's provider.
        servers: Servers that have more.
    """

    tools: tuple[Tool[..., object], ...]
    toolsets: tuple[Toolset | ProviderTool, ...]
    servers: tuple[McpServer, ...]


def read_tools(
    agent: str,
    given: Iterable[ToolSource],
    servers: Iterable[McpServer],
    toolsets: Iterable[Toolset | ProviderTool],
) -> GivenTools:
    """What is given as tools, told apart; with the servers and toolsets that are given as such.

    Raises:
        InvalidAgent: Something is neither, and cannot be called.
        InvalidTool: A plain function cannot be a tool.
    """
    tools: list[Tool[..., object]] = []
    found = listed(agent, "tools", given)
    for each in found:
        if isinstance(each, McpServer | Toolset | ProviderTool):
            continue
        if isinstance(each, ToolGroup):
            tools.extend(each.tools)
        elif callable(each):
            tools.append(as_tool(each))
        else:
            shown = shown_address(each) if isinstance(each, str) else each
            raise InvalidAgent(
                agent,
                f"tools contains {shown!r}, which cannot be called: give functions, tools and servers here, "
                f"agents in sub_agents=, or as AgentTool(agent){_server_hint(each)}",
            )
    return GivenTools(
        tuple(tools),
        (*(each for each in found if isinstance(each, Toolset | ProviderTool)), *read_toolsets(agent, toolsets)),
        (*(each for each in found if isinstance(each, McpServer)), *read_servers(agent, servers)),
    )


def read_approvals(agent: str, given: Approvals | Iterable[str] | None) -> Approvals:
    """Rules, also from patterns alone.

    Raises:
        InvalidAgent: It is one text, or holds something else than texts.
    """
    if isinstance(given, Approvals):
        return given
    if isinstance(given, bool):
        raise InvalidAgent(agent, f'approvals={given}: give patterns of tools, such as ["send_*"] or ["*"]')
    try:
        return Approvals(() if given is None else given)
    except TypeError as error:
        raise InvalidAgent(agent, f"approvals: {error}") from None


def read_models(agent: str, given: Mapping[str, ModelT]) -> Mapping[str, ModelT]:
    """Models by name.

    Raises:
        InvalidAgent: They are no mapping.
    """
    found: object = given
    if not isinstance(found, Mapping):
        raise InvalidAgent(
            agent, f'models= is a mapping of names to models, and not a {type(found).__name__}: {{"small": …}}'
        )
    return given


def read_text(agent: str, what: str, given: str) -> str:
    """A text.

    Raises:
        InvalidAgent: It is something else.
    """
    found: object = given
    if not isinstance(found, str):
        raise InvalidAgent(agent, f"{what}= is a text, and not a {type(found).__name__}")
    return given


def read_idle(agent: str, given: Duration | None) -> float | None:
    """How long conversations last without a message, in seconds; None if nothing is said.

    Raises:
        InvalidAgent: It is no duration.
    """
    try:
        return None if given is None else seconds(given, "idle")
    except InvalidArgument:
        why = f"idle={given!r:.80}: give seconds from 0 up, a timedelta, or math.inf for conversations without an end"
        raise InvalidAgent(agent, why) from None


def listed(agent: str, what: str, given: Iterable[T]) -> tuple[T, ...]:
    """Several of something.

    Raises:
        InvalidAgent: It is one text, whose letters would each be one, or something else that is no list.
    """
    if isinstance(given, str):
        raise InvalidAgent(agent, f"{what}={given!r} is one text: use a list, [{given!r}]")
    if not isinstance(given, Iterable):
        raise InvalidAgent(agent, f"{what}= is a list, and not a single {type(given).__name__}: write [ ] around it")
    return tuple(given)


def read_servers(agent: str, given: Iterable[McpServer]) -> tuple[McpServer, ...]:
    """MCP servers.

    Raises:
        InvalidAgent: Something is none.
    """
    servers = listed(agent, "servers", given)
    for each in servers:
        if not isinstance(each, McpServer):
            shown = shown_address(each) if isinstance(each, str) else each
            raise InvalidAgent(agent, f"servers contains {shown!r}, which is not an McpServer{_server_hint(each)}")
    return servers


def read_toolsets(agent: str, given: Iterable[Toolset | ProviderTool]) -> tuple[Toolset | ProviderTool, ...]:
    """Toolsets, and tools of providers.

    Raises:
        InvalidAgent: Something is neither.
    """
    toolsets = listed(agent, "toolsets", given)
    for each in toolsets:
        if not isinstance(each, Toolset | ProviderTool):
            raise InvalidAgent(agent, f"toolsets contains {each!r:.80}, which is no toolset: give it as one of tools=")
    return toolsets


def _server_hint(given: object) -> str:
    return "; a server is made by McpServer.http(url) or McpServer.stdio(command)" if isinstance(given, str) else ""
