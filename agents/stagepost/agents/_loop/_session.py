"""What the agents of a team share in one process, while a runner, or a run in memory, works with them."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

from .._definition._approvals import Allow, Deny
from .._mcp import McpConnections
from .._models._messages import SystemMessage, ToolCall
from .._models._settings import ModelSettings
from ._counter import Counter

Approve: TypeAlias = Callable[[ToolCall], Awaitable[Allow | Deny]]
"""Says whether a call may be made, where there is no runner to ask people."""

_NONE: Final[Mapping[str, McpConnections]] = {}


class Session:
    """Open connections, and what the runs in progress have used.

    Args:
        connections: Open connections to the servers of each member, by the member's name.
        approve: Decides about calls of runs in memory; None if nobody can.
        settings: Settings for the root agent's model in a run in memory; None for the agent's own.
    """

    def __init__(
        self,
        connections: Mapping[str, McpConnections] = _NONE,
        approve: Approve | None = None,
        settings: ModelSettings | None = None,
    ) -> None:
        self.connections = connections
        self.approve = approve
        self.settings = settings

    @cached_property
    def _counters(self) -> WeakValueDictionary[str, Counter]:
        return WeakValueDictionary()

    def counter(self, root: str) -> Counter:
        """The counter of a root run, the same for as long as one of its runs holds it."""
        return self._counters.setdefault(root, Counter())


def instructed(system: SystemMessage, session: Session, member: str) -> SystemMessage:
    """A prompt with the instructions of a member's connected servers.

    Args:
        system: The prompt.
        session: What is open.
        member: The member's name.
    """
    connections = session.connections.get(member)
    told = "" if connections is None else connections.instructions
    return SystemMessage(text=f"{system.text}\n\n{told}".strip()) if told else system
