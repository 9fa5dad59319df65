"""What the model of an agent may call."""

from collections.abc import Callable, Sequence

from stagepost.workflows import StepContext

from .._definition._definition import input_names, reserved, sub_agents_of, toolsets_of
from .._delegation._messaging import message_tool
from .._delegation._state import RunState
from .._mcp._tools import FoundTool, refuse_clashes
from .._models._messages import AssistantMessage, ChatMessage
from .._tools._answer_reader import AnswerReader
from .._tools._search import search_tool
from .._tools._tool import Tool
from .._tools._toolbox import TOOLBOX, Toolbox
from .._tools._toolset import ToolsetContext
from ._member import Member
from ._session import Session


class Offer:
    """Finds the available tools: the agent's own, those of its toolsets and servers, and those that end a run.

    Args:
        member: The agent.
        reader: Knows the tools that end a run.

    Attributes:
        messages: The tool with which it talks to other agents; None if there are none.
        fixed: The tools of each turn of each run; None if they depend on servers or toolsets.
    """

    def __init__(self, member: Member, reader: AnswerReader) -> None:
        agent = member.agent
        agents = sub_agents_of(agent)
        self.messages = message_tool(agents) if agents else None
        self._member = member
        self._reader = reader
        self._own = (*agent.tools, *([] if self.messages is None else [self.messages]))
        self._inputs = input_names(agent)
        self._toolsets = toolsets_of(agent)
        self._search = search_tool() if self._toolsets else None
        self.fixed = None if agent.servers or self._toolsets else Toolbox.of(self._own, reader.tools)

    async def now(self, state: RunState, news: Sequence[ChatMessage], context: StepContext) -> Toolbox:
        """The tools for the next answer.

        Args:
            state: The run's state before the answer.
            news: What was said to the run since then.
            context: The step that asks.

        Raises:
            McpUnavailable: A server cannot be reached.
            ToolsetFailed: A toolset could not give its tools.
            ToolClash: Two tools have one name.
        """
        return self.fixed or await self._found(state, state.turn, lambda: (*state.messages, *news), context)

    async def again(self, state: RunState, context: StepContext) -> Toolbox:
        """The tools that the last answer was given for, in another process perhaps; raises as `now` does.

        Args:
            state: The run's state while the calls of the answer are made.
            context: The step that makes them.
        """
        return self.fixed or await self._found(state, state.turn - 1, lambda: _before_answer(state.messages), context)

    async def _found(
        self, state: RunState, turn: int, messages: Callable[[], Sequence[ChatMessage]], context: StepContext
    ) -> Toolbox:
        tools = (*self._own, *await self._remote(context))
        if self._search is None:
            return Toolbox.of(tools, self._reader.tools)
        member = self._member
        told = ToolsetContext(
            context.run_id, member.agent.name, member.path, turn + 1, messages(), state.fields, context.deps
        )
        offered: list[FoundTool] = []
        hidden: list[FoundTool] = []
        for each in self._toolsets:
            origin = f"a tool of toolset {each.name or type(each).__name__!r}"
            shown, more = await each.offered(told)
            offered += [FoundTool(tool, origin) for tool in shown]
            hidden += [FoundTool(tool, origin) for tool in more]
        refuse_clashes([*offered, *hidden], beside=tools, reserved=reserved(member.agent), inputs=self._inputs)
        known = frozenset(state.found)
        late: list[Tool[..., object]] = [self._search.over([each.tool for each in hidden])] if hidden else []
        late += [each.tool for each in hidden if each.tool.name in known]
        return Toolbox.of((*tools, *(each.tool for each in offered), *late), self._reader.tools)

    async def _remote(self, context: StepContext) -> Sequence[Tool[..., object]]:
        """The tools of servers."""
        if not self._member.agent.servers:
            return ()
        session: Session = context.resources
        connections = session.connections[self._member.name]
        return await connections.tools(beside=self._own, reserved=reserved(self._member.agent), inputs=self._inputs)


def _before_answer(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """What was said before the last answer; a program in it may have made calls since."""
    place = len(messages) - 1
    while place > 0 and not (isinstance(said := messages[place], AssistantMessage) and said.is_answer):
        place -= 1
    return messages[:place]


def keep(toolbox: Toolbox, context: StepContext) -> Toolbox:
    """Remember the offered tools, for the calls of the answer."""
    context.memo[TOOLBOX] = toolbox
    return toolbox


def kept(context: StepContext) -> Toolbox | None:
    """The tools that this process offered for the last answer; None if another process did."""
    known = context.memo.get(TOOLBOX)
    return known if isinstance(known, Toolbox) else None
