"""The tool by which an agent has a person let it in at a server."""

from collections.abc import Mapping
from typing import Final

from ..errors import NobodyToAnswer
from ._link import Connection, NotLetIn
from ._names import tool_name
from ._remote import ALONE, Asked, Continuation, RemoteResult
from ._rounds import Callee
from ._schema import read_schema
from ._tools import FoundTool, McpTool

_NAME: Final = "authorize"


class Entrance:
    """Stands for a server whose only tool is to let this process in.

    Args:
        connection: The connection to the server.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def call(
        self,
        tool: str,  # noqa: ARG002  # there is one
        arguments: Mapping[str, object],  # noqa: ARG002  # it takes none
        continuation: Continuation = ALONE,  # noqa: ARG002  # it is asked anew each time
    ) -> RemoteResult | Asked:
        """Whether the server lets this process in now, or what it wants."""
        try:
            offered = await self._connection.tools()
        except NotLetIn as error:
            return Asked(how="repeat", refusal=error.refusal)
        names = ", ".join(each.name for each in offered if self._connection.server.offers(each.name))
        return RemoteResult(f"Access is authorized. Tools that can be called now: {names or 'none'}", is_error=False)

    async def cancel(self, task: str) -> None:
        """Nothing is under way."""

    def holds(self, key: str) -> bool:  # noqa: ARG002  # whichever it is
        """Nothing is held."""
        return False


def entrance(connection: Connection) -> FoundTool:
    """The tool; it is always there, so that a call that waits for a person finds it again."""
    server = connection.server
    remote = Entrance(connection)

    async def function() -> str:
        result = await remote.call(_NAME, {})
        if isinstance(result, Asked):
            raise NobodyToAnswer("", _NAME)
        return result.text

    made = McpTool(
        name=tool_name(server.prefix, f"{_NAME}_{server.name}"),
        description=(
            f"Ask the user to give access to {server.name}. Call it if the tools of {server.name} are missing and are "
            "needed; they can be called once access is given."
        ),
        idempotent=True,
        timeout=server.timeout,
        function=function,
        _arguments=read_schema({"type": "object", "properties": {}}),
        needs_approval=False,
        on_unknown="tell",
        retries=server.retries,
        callee=Callee(server, _NAME, remote),
    )
    return FoundTool(made, f"the tool that lets this process in at MCP server {server.name!r}")
