"""The connections to an agent's servers, entered and left as one."""

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Final, Self

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from stagepost.workflows import ExtraMissing

from .._tools._answer_reader import RESERVED
from .._tools._tool import Tool
from ..errors import McpUnavailable
from ._entrance import entrance
from ._link import Adapter, Connection, NotLetIn
from ._remote import RemoteTool
from ._server import McpServer
from ._tools import found_tool, refuse_clashes

_NOTHING: Final[tuple[Tool[..., object], ...]] = ()


class McpConnections:
    """Connections to MCP servers: ``async with McpConnections(servers) as connections``.

    Nothing is started before `tools` is called. If a server dies, the next call of one of its tools connects again;
    calls in progress fail with `McpCallLost`. Leaving closes all connections and ends all processes that were started
    for them; entering it again connects again.

    Args:
        servers: The servers.
    """

    def __init__(self, servers: Iterable[McpServer]) -> None:
        self._servers = tuple(servers)
        self._tasks: TaskGroup | None = None
        self._connections: tuple[Connection, ...] | None = None
        self._loading = anyio.Lock()

    async def __aenter__(self) -> Self:
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        closing, self._connections = self._connections or (), None
        for connection in closing:
            connection.close()
        tasks, self._tasks = self._entered(), None
        await tasks.__aexit__(None, None, None)  # its tasks raise nothing: the error goes on as it is, in no group

    async def tools(
        self,
        *,
        beside: Sequence[Tool[..., object]] = _NOTHING,
        reserved: Iterable[str] = RESERVED,
        inputs: Iterable[str] = (),
    ) -> Sequence[Tool[..., object]]:
        """The servers' tools as `Tool` values, in the order of the servers. Connects to all servers at once.

        Args:
            beside: The agent's own tools.
            reserved: Names that no tool may have; by default those that every agent needs.
            inputs: Names of the inputs of the agent's programs, which no tool may have either.

        Raises:
            ExtraMissing: The extra ``mcp`` is not installed.
            McpUnavailable: A server cannot be reached.
            ToolClash: Two tools have one name.
        """
        connections = await self._connected()
        offers = await _all_offers(connections)
        found = [
            found_tool(connection.server, remote, connection)
            for connection, offer in zip(connections, offers, strict=True)
            for remote in offer
            if connection.server.offers(remote.name)
        ]
        found += [entrance(connection) for connection in connections if connection.server.is_authorized_by_people]
        refuse_clashes(found, beside=beside, reserved=reserved, inputs=inputs)
        return tuple(each.tool for each in found)

    @property
    def instructions(self) -> str:
        """The instructions of the connected servers, for a prompt; empty if there are none."""
        told = [(each.server.name, text) for each in self._connections or () if (text := each.instructions.strip())]
        return "\n\n".join(f"Instructions of the server {name!r} for its tools:\n{text}" for name, text in told)

    async def _connected(self) -> tuple[Connection, ...]:
        """The connections, open or not."""
        tasks = self._entered()
        if not self._servers:
            return ()
        async with self._loading:
            if self._connections is None:
                adapter = await anyio.to_thread.run_sync(_adapter)
                self._connections = tuple(Connection(server, adapter, tasks) for server in self._servers)
        return self._connections

    def _entered(self) -> TaskGroup:
        if self._tasks is None:
            raise RuntimeError(
                "McpConnections are to be entered first: async with McpConnections(servers) as connections"
            )
        return self._tasks


async def _all_offers(connections: Sequence[Connection]) -> Sequence[Sequence[RemoteTool]]:
    """What each server offers. Of several errors the first server's is raised."""
    outcomes: list[Sequence[RemoteTool] | McpUnavailable] = [()] * len(connections)

    async def ask(index: int, connection: Connection) -> None:
        try:
            outcomes[index] = await connection.tools()
        except NotLetIn:
            outcomes[index] = ()
        except McpUnavailable as error:
            outcomes[index] = error

    async with anyio.create_task_group() as tasks:
        for index, connection in enumerate(connections):
            tasks.start_soon(ask, index, connection)
    return [_checked(outcome) for outcome in outcomes]


def _checked(outcome: Sequence[RemoteTool] | McpUnavailable) -> Sequence[RemoteTool]:
    if isinstance(outcome, McpUnavailable):
        raise outcome
    return outcome


def _adapter() -> Adapter:
    try:
        from . import _sdk  # noqa: PLC0415  # an extra, and half a second
    except ImportError as error:  # also what an older version of it lacks
        raise ExtraMissing("McpServer", "mcp", "mcp") from error
    return _sdk
