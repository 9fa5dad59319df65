"""What the model of an agent may call."""

from stagepost.workflows import StepContext

from .._definition._definition import reserved, sub_agents_of
from .._delegation._messaging import message_tool
from .._tools._answer_reader import AnswerReader
from .._tools._toolbox import TOOLBOX, Toolbox
from ._member import Member
from ._session import Session


class Offer:
    """Finds the available tools: the agent's own, those of its servers, and those that end a run.

    Args:
        member: The agent.
        reader: Knows the tools that end a run.

    Attributes:
        messages: The tool with which it talks to other agents; None if there are none.
        fixed: The tools of each turn of each run; None if they depend on servers.
    """

    def __init__(self, member: Member, reader: AnswerReader) -> None:
        agents = sub_agents_of(member.agent)
        self.messages = message_tool(agents) if agents else None
        self._member = member
        self._reader = reader
        self._own = (*member.agent.tools, *([] if self.messages is None else [self.messages]))
        toolbox = Toolbox.of(self._own, reader.tools)
        self.fixed = None if member.agent.servers else toolbox

    async def now(self, context: StepContext) -> Toolbox:
        """The tools available now.

        Raises:
            McpUnavailable: A server cannot be reached.
            ToolClash: Two tools have one name.
        """
        if self.fixed is not None:
            return self.fixed
        session: Session = context.resources
        connections = session.connections[self._member.name]
        remote = await connections.tools(beside=self._own, reserved=reserved(self._member.agent))
        return Toolbox.of((*self._own, *remote), self._reader.tools)


def keep(toolbox: Toolbox, context: StepContext) -> Toolbox:
    """Remember the offered tools, for the calls of the answer."""
    context.memo[TOOLBOX] = toolbox
    return toolbox


def kept(context: StepContext) -> Toolbox | None:
    """The tools that this process offered for the last answer; None if another process did."""
    known = context.memo.get(TOOLBOX)
    return known if isinstance(known, Toolbox) else None
