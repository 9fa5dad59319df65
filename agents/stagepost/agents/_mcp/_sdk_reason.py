"""Why a connection did not come about, in words."""

from mcp import MCPError
from mcp.client.auth import OAuthFlowError
from mcp_types import CONNECTION_CLOSED

from .._models._addresses import shown_address
from ._remote import Refusal
from ._sdk_http import denied, refusal_of
from ._server import Http, McpServer, Stdio


def reason(server: McpServer, error: Exception) -> str:
    """Why a connection did not come about, and what to do about it."""
    transport, cause = server.transport, _innermost(error)
    if isinstance(transport, Stdio):
        if isinstance(cause, FileNotFoundError):
            if " " in transport.command:
                first, *others = (repr(part) for part in transport.command.split())
                return f"there is no program {transport.command!r}: give {', '.join((first, *others))} one by one"
            return (
                f"there is no program {transport.command!r}: install it, or give its whole path (cwd={transport.cwd!r})"
            )
        if isinstance(cause, MCPError) and cause.code == CONNECTION_CLOSED:
            return f"{transport.command!r} ended before it had answered: run it by hand to see what it says"
    if isinstance(transport, Http):
        where = shown_address(transport.url)
        if isinstance(cause, OAuthFlowError):
            return f"{where}: {denied(cause)}"
        return f"{where} answers with {_told(cause)}: check the address, the headers, and that it is running"
    return _told(cause)


def refusal(error: Exception) -> Refusal | None:
    """What the server said, if a connection did not come about because a person has to let this process in."""
    return refusal_of(_innermost(error))


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _told(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
