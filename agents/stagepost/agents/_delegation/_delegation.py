"""Asking other agents: each question is a run of its own below the run that asks, begun once and joined again."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn, Protocol

import anyio
from pydantic import JsonValue
from pydantic_core import to_json

from stagepost.checkpoint import BlobNotFound
from stagepost.workflows import ChildFailed, Servable, State, StepContext

from .._definition._budget import Spent
from .._definition._definition import MESSAGE_AGENT, AgentDefinition
from .._tools._invoking import ToolResult
from .._tools._returned import Json
from ..errors import AgentError
from ._calls import Aside, PendingCall, Place, Talk
from ._delegate_tool import DelegateTool, delegate_key
from ._messaging import is_readdressed, request_of, turn_key
from ._why import own_error

_HEARD: Final = "heard "  # in the memo, with a conversation's id: its last answer
_MINUTES: Final = 120.0  # seconds; more are told in minutes
_READDRESSED: Final = (
    "nothing was sent: after the model's answer nobody can change who a message is for or whether it is the last one, "
    "only what it says"
)


class AgentWorkflow(Servable, Protocol):
    """What an agent's work is, as far as those need it who ask the agent."""

    agent: AgentDefinition

    @property
    def idle(self) -> float:
        """After how many seconds without a message a conversation with it has ended."""
        ...

    def begin(self, payload: object, root: str) -> Mapping[str, object]:
        """What a run starts with."""
        ...

    def go_on(
        self, before: State, payload: object, root: str | None = None, *, run_id: str | None = None
    ) -> Mapping[str, object]:
        """The initial state of a run that continues another one."""
        ...

    def total(self, state: State) -> Spent:
        """What a run and all runs below it have used."""
        ...

    def plain_reply(self, state: State) -> JsonValue:
        """The final answer as JSON values."""
        ...


class Answered(NamedTuple):
    """The last answer of a conversation, if it was given in this process.

    Attributes:
        run: The run that was answered.
        turn: Number of the turn.
        state: Final state of the run that has answered.
    """

    run: str
    turn: int
    state: State


class Delegation:
    """Asks the agents that an agent can reach.

    Args:
        agents: The loops of those that it can speak to, by name.
        tools: The loops of those that are its tools, by the tools' names.
    """

    def __init__(self, agents: Mapping[str, AgentWorkflow], tools: Mapping[str, AgentWorkflow]) -> None:
        self._agents = agents
        self._tools = tools

    @property
    def has_agents(self) -> bool:
        """Whether there is somebody to speak to."""
        return bool(self._agents)

    def answers(self, tool: str) -> bool:
        """Whether another agent answers the calls of a tool."""
        return tool in self._tools or (tool == MESSAGE_AGENT and self.has_agents)

    async def ask(
        self,
        tool: DelegateTool,
        arguments: Mapping[str, object],
        entry: PendingCall,
        context: StepContext,
        aside: Aside,
    ) -> ToolResult:
        """What an agent that is a tool says."""
        loop = self._tools[tool.name]
        key = delegate_key(tool.name, entry.number)
        start = partial(_begun, loop, tool.request(arguments), entry, context)
        mark = f"late-{entry.number}"
        late = context.has_begun(mark)
        try:
            if not late:
                with anyio.move_on_after(tool.timeout) as limit:
                    state = await context.child(loop, key, start)
                late = limit.cancelled_caught
            if late:
                await context.first(mark)  # for a process after this one: it gives up as well, and says why
                await context.cancel_child(loop, key)
                state = await context.child(loop, key, _not_any_more)  # it may have ended at the last moment
        except (AgentError, ChildFailed, BlobNotFound) as error:
            _count(aside, key, loop, _left_by(error))
            return ToolResult(_late(tool) if late else _why(error), is_error=True)
        _count(aside, key, loop, state)
        return ToolResult(_text(loop.plain_reply(state)))

    async def message(
        self, arguments: Mapping[str, Any], entry: PendingCall, context: StepContext, aside: Aside
    ) -> ToolResult:
        """What an agent answers in a conversation."""
        talk = entry.talk
        if talk is None or is_readdressed(arguments, talk):
            return ToolResult(_READDRESSED, is_error=True)
        loop = self._agents[talk.agent]
        key = turn_key(talk.id, talk.turn)
        start = partial(_started, loop, arguments["message"], talk, entry, context)
        ended = talk.end
        try:
            state = await context.child(loop, key, start)
        except (AgentError, ChildFailed, BlobNotFound) as error:
            _count(aside, key, loop, _left_by(error))
            answer: JsonValue = _why(error)
            failed = ended = True
        else:
            _count(aside, key, loop, state)
            context.memo[f"{_HEARD}{talk.id}"] = Answered(context.run_id, talk.turn, state)
            answer, failed = loop.plain_reply(state), False
        aside.talk = (
            talk.id,
            Talk(
                agent=talk.agent,
                turns=talk.turn + 1,
                run=context.run_id,
                last=context.clock(),
                ended=ended,
                idle=None if math.isinf(loop.idle) else loop.idle,
                by=entry.holder,
            ),
        )
        return ToolResult(Json(_answer(talk, answer, is_complete=ended)), is_error=failed)


def _begun(loop: AgentWorkflow, request: object, entry: PendingCall, context: StepContext) -> Mapping[str, object]:
    """What a run for a call starts with."""
    return {**loop.begin(request, entry.root or context.run_id), "call": entry.number}


async def _started(
    loop: AgentWorkflow, message: str, talk: Place, entry: PendingCall, context: StepContext
) -> Mapping[str, object]:
    """What the next run of a conversation starts with; asked for once."""
    request = request_of(message, loop.agent)
    top = entry.root or context.run_id
    if not talk.turn:
        return _begun(loop, request, entry, context)
    if talk.late is not None:
        raise ConversationEnded(talk.id, f"nobody has written for more than {_spelled(talk.late)}")
    run = talk.run or context.run_id
    key = turn_key(talk.id, talk.turn - 1)
    heard = context.memo.get(f"{_HEARD}{talk.id}")
    if isinstance(heard, Answered) and heard[:2] == (run, talk.turn - 1):
        before: State | None = heard.state
    else:
        before = await context.child_state(key, of=run)
    if before is None:
        raise ConversationEnded(talk.id, f"its last answer, a run below {run!r}, has failed, or is no longer stored")
    start = loop.go_on(before, request, top, run_id=context.child_id(key, of=run) if context.is_durable else None)
    return {**start, "call": entry.number}


def _spelled(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= _MINUTES else f"{seconds:g} s"


class ConversationEnded(AgentError):
    """A conversation between agents cannot go on."""

    def __init__(self, conversation_id: str, why: str) -> None:
        super().__init__(f"conversation {conversation_id!r} has ended: {why}; start another one with agent_name")


class _GivenUp(AgentError):
    """A run has not begun before nobody waited for it any more."""


def _not_any_more() -> NoReturn:
    raise _GivenUp


def _late(tool: DelegateTool) -> str:
    return "timed out" if tool.timeout is None else f"timed out after {tool.timeout:g} s"  # it may have had one before


def _count(aside: Aside, key: str, loop: AgentWorkflow, state: State | None) -> None:
    """Tell what a run below has used, however it has ended."""
    if state is not None:
        aside.nested = {key: loop.total(state).stored()}


def _left_by(error: Exception) -> State | None:
    """What a run below had come to when it failed; None if it had not begun."""
    state: State | None = error.state if isinstance(error, ChildFailed) else None
    return state


def _why(error: Exception) -> str:
    """What the model is told: of a run below, what is stored of it, whether it has failed in this process or not."""
    return own_error(error.why) if isinstance(error, ChildFailed) else str(error)


def _text(answer: JsonValue) -> str:
    return answer if isinstance(answer, str) else Json(to_json(answer).decode())


def _answer(talk: Place, answer: JsonValue, *, is_complete: bool) -> str:
    said = {"conversation_id": talk.id, "agent_name": talk.agent, "response": answer, "is_complete": is_complete}
    return to_json(said).decode()
