"""The connections of an agent that are kept between its runs in memory."""

from collections.abc import Mapping
from contextlib import AsyncExitStack

from .._mcp import McpConnections
from ._team import Team


class Opened:
    """What ``async with agent:`` keeps open: the connections to all servers of the agent and of those below it.

    Args:
        name: The agent's name, for the error.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._stack: AsyncExitStack | None = None
        self._connections: Mapping[str, McpConnections] | None = None

    @property
    def connections(self) -> Mapping[str, McpConnections] | None:
        """Those that are open, by the names of the members of the team; None if none are kept."""
        return self._connections

    async def enter(self, team: Team) -> None:
        """Open them; servers are reached when a run asks for them first.

        Raises:
            RuntimeError: They are open already.
        """
        if self._stack is not None:
            raise RuntimeError(
                f"agent {self._name!r} is open already: enter it once, around all runs that share its connections"
            )
        async with AsyncExitStack() as stack:
            self._stack = stack
            try:
                self._connections = await team.connect(stack)
            finally:
                self._stack = None
            self._stack = stack.pop_all()

    async def leave(self) -> None:
        """Close them, and end the programs that were started for them."""
        stack, self._stack, self._connections = self._stack, None, None
        if stack is not None:
            await stack.aclose()
