"""A run and the runs below it, as far as they were read: what the parts are told from."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from .._definition._definition import MESSAGE_AGENT, AgentDefinition
from .._loop._loop import AgentLoop
from .._models._messages import ChatMessage
from ._position import Position
from ._stored import StoredRun

_ASKS_AGENT: Final = "Send a message to another agent."


class Tree(NamedTuple):
    """A run, a part of its transcript, and the runs below it that its calls there have started.

    Attributes:
        run: The run.
        loop: The loop of its agent; None if nobody knows it.
        first: Place of the first of its messages that were read; no message before belongs to the run.
        messages: Those that were read.
        below: The runs that calls have started, by the places of the calls' results; None for one that was not read.
        position: How much of the run was told before.
    """

    run: StoredRun
    loop: AgentLoop | None
    first: int
    messages: Sequence[ChatMessage]
    below: "Mapping[int, Tree | None]"
    position: Position

    @property
    def name(self) -> str:
        """Name of the agent that was asked."""
        if self.loop is not None:
            return self.loop.agent.name
        return self.run.info.workflow.replace(":", ".").rpartition(".")[2]

    def message(self, place: int) -> ChatMessage | None:
        """The message at a place; None if it was not read."""
        index = place - self.first
        return self.messages[index] if 0 <= index < len(self.messages) else None

    def agent(self, holder: str) -> AgentDefinition | None:
        """The agent that has the run; None if nobody knows it.

        Args:
            holder: Its name, if it is not the one that was asked.
        """
        member = None if self.loop is None else self.loop.members.get(holder or self.name)
        return None if member is None else member.agent

    def description(self, tool: str, holder: str) -> str:
        """What is said of a tool of the agent that has the run; empty if nothing is known."""
        if tool == MESSAGE_AGENT:
            return _ASKS_AGENT
        agent = self.agent(holder)
        return "" if agent is None else next((each.description for each in agent.tools if each.name == tool), "")
