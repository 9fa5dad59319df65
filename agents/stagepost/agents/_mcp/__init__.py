"""Tools of MCP servers: what servers an agent has, the connections to them, and their tools as tools of ours.

The SDK is known to the modules `_sdk…` alone, which are imported when a connection is first opened.
"""

from ._connections import McpConnections
from ._oauth import ClientCredentials, HttpAuth
from ._server import McpOptions, McpServer

__all__ = ["ClientCredentials", "HttpAuth", "McpConnections", "McpOptions", "McpServer"]
