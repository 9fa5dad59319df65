"""The errors of MCP servers and their tools."""

from ._root import AgentError


class InvalidServer(AgentError, ValueError):
    """An MCP server is described wrongly.

    Attributes:
        server: Its name.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, server: str, why: str) -> None:
        super().__init__(f"MCP server {server!r}: {why}")
        self.server = server
        self.why = why


class McpError(AgentError):
    """Something is wrong with an MCP server.

    Attributes:
        server: Its name.
    """

    def __init__(self, server: str, message: str) -> None:
        super().__init__(message)
        self.server = server


class McpUnavailable(McpError, ConnectionError):
    """A server cannot be reached or understood. Nothing was called.

    Attributes:
        why: What was tried, with what result, and what to do about it.
    """

    def __init__(self, server: str, why: str) -> None:
        super().__init__(server, f"MCP server {server!r} is not available: {why}")
        self.why = why


class McpCallLost(McpError, ConnectionError):
    """A server went away during a call.

    Attributes:
        tool: The server's name of the tool.
    """

    def __init__(self, server: str, tool: str) -> None:
        super().__init__(
            server,
            f"the connection to MCP server {server!r} was lost while {tool} was called: "
            "it may or may not have taken effect. The next call connects again",
        )
        self.tool = tool


class McpCallFailed(McpError):
    """A server has answered a call with an error.

    Attributes:
        tool: The server's name of the tool.
        text: What the server says.
    """

    def __init__(self, server: str, tool: str, text: str) -> None:
        super().__init__(server, text or f"{tool} failed, and the server does not say why")
        self.tool = tool
        self.text = text


class AuthorizationFailed(AgentError):
    """A person could not authorize this process at a server. Its text may be shown to that person.

    Attributes:
        why: What is wrong, and what to do about it.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class ToolClash(AgentError, ValueError):
    """Two tools have one name, and one comes from a server or a toolset; or its name is taken otherwise.

    Attributes:
        tool: The name.
        first: Where one comes from.
        second: Where the other comes from.
    """

    def __init__(self, tool: str, first: str, second: str) -> None:
        super().__init__(
            f"two things are named {tool!r}: {first}, and {second}: "
            "give the server prefix= (or the toolset .prefixed(…)), or leave one of them out with exclude=",
        )
        self.tool = tool
        self.first = first
        self.second = second
