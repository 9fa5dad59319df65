"""Tools of MCP servers: what servers an agent has, the connections to them, and their tools as tools of ours.

The SDK is known to the modules `_sdk…` alone, which are imported when a connection is first opened.
"""

from ._authorizing import AuthorizationBegun, AuthorizationEnded, Authorizations
from ._connections import McpConnections
from ._oauth import AuthorizationCode, ClientCredentials, HttpAuth
from ._server import McpOptions, McpServer
from ._token_store import MemoryTokenStore, StoredTokens, TokenStore

__all__ = [
    "AuthorizationBegun",
    "AuthorizationCode",
    "AuthorizationEnded",
    "Authorizations",
    "ClientCredentials",
    "HttpAuth",
    "McpConnections",
    "McpOptions",
    "McpServer",
    "MemoryTokenStore",
    "StoredTokens",
    "TokenStore",
]
