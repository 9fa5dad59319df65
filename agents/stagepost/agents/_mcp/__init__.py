"""Tools of MCP servers: what servers an agent has, the connections to them, and their tools as tools of ours.

The SDK is known to `_sdk` alone, which is imported when a connection is first opened.
"""

from ._connections import McpConnections
from ._server import McpOptions, McpServer

__all__ = ["McpConnections", "McpOptions", "McpServer"]
