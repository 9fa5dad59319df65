"""The tool calls of one answer: at once, each saved when it ends, none with effects ever made twice.

A call takes two steps, each with a commit of its own. `intend` says what is about to happen, `execute` does it. A tool
that is not idempotent is executed only by the process that has written the intent down, and only once: which intents
are this process's own and not yet used up stands in memory and nowhere else. So wherever a process is killed, the next
one finds one of these:

- no intent: nothing was executed; it intends and executes.
- an intent and no result: the call may or may not have been executed; the model is told that nobody knows.
- a result: it stands.

An idempotent tool leaves no mark and is executed again. The arguments are checked before anything else, each time: a
call that cannot be made was never made, whatever was intended.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from stagepost.workflows import Chain, Parallel, State, StepContext, step

from ._arguments import InvalidArguments
from ._context import ToolContext
from ._invoking import ToolResult, invoke
from ._messages import ToolCall, ToolMessage
from ._tool import Tool

_MOST_AT_ONCE: Final = 100


class PendingCall(BaseModel):
    """A call that waits to be made.

    Attributes:
        number: Turn and position: unlike the model's id, never the same twice in a run.
        call: The call.
    """

    model_config = ConfigDict(frozen=True)

    number: str
    call: ToolCall


class CallOutcome(BaseModel):
    """What a call has left behind.

    Attributes:
        message: What the model is told.
    """

    model_config = ConfigDict(frozen=True)

    message: ToolMessage


class _Bound(NamedTuple):
    """A call that can be made."""

    tool: Tool[..., object]
    arguments: Mapping[str, object]


class Intents:
    """The intents of this process that have not been acted upon: taken once, so that a call is made once.

    An intent stays behind if its run is left before it is acted upon, and serves the run if this process resumes it.
    """

    def __init__(self) -> None:
        self._own: set[tuple[str, str]] = set()

    def add(self, run_id: str, number: str) -> None:
        """Note that this process intends to make a call."""
        self._own.add((run_id, number))

    def take(self, run_id: str, number: str) -> bool:
        """Whether this process has intended the call and not yet begun with it. It has now."""
        known = (run_id, number) in self._own
        self._own.discard((run_id, number))
        return known


class ToolCalling:
    """Makes tool calls.

    Args:
        agent: Name of the agent.
        tools: Its tools.
    """

    def __init__(self, agent: str, tools: Sequence[Tool[..., object]]) -> None:
        self._agent = agent
        self._tools = {tool.name: tool for tool in tools}
        self._intents = Intents()

    def pattern(self, over: Callable[[State], Sequence[PendingCall]], into: str) -> Parallel:
        """The fan-out over pending calls.

        Args:
            over: The calls of a state.
            into: Key of the state for their outcomes, in the order of the calls.
        """
        worker = Chain(
            "call",
            [step("intend", self._intend, inline=True), step("execute", self._execute)],
            types={"item": PendingCall, "message": ToolMessage},
        )
        return Parallel("tools", worker, over=over, into=into, workers=_MOST_AT_ONCE)

    def _intend(self, state: State, context: StepContext) -> dict[str, object]:
        pending: PendingCall = state["item"]
        self._intents.add(context.run_id, pending.number)
        tool = self._tools.get(pending.call.name)
        return {} if tool is not None and tool.idempotent else {"intended": True}

    async def _execute(self, state: State, context: StepContext) -> dict[str, object]:
        pending: PendingCall = state["item"]
        fresh = self._intents.take(context.run_id, pending.number)
        found = self._find(pending.call)
        if isinstance(found, ToolResult):
            result = found
        elif fresh or (found.tool.idempotent and "intended" not in state):
            result = await invoke(found.tool, found.arguments, self._context(pending, context))
        else:
            result = _interrupted(found.tool)
        return {"message": _message(pending.call, result)}

    def _find(self, call: ToolCall) -> _Bound | ToolResult:
        """The tool and its arguments, or what is wrong with the call."""
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            return ToolResult(f"there is no tool {call.name!r}; there are: {known}", is_error=True)
        try:
            return _Bound(tool, tool.parse(call.arguments))
        except InvalidArguments as error:
            return ToolResult(f"the arguments do not fit, nothing was called: {error}", is_error=True)

    def _context(self, pending: PendingCall, context: StepContext) -> ToolContext:
        return ToolContext(
            run_id=context.run_id,
            agent=self._agent,
            call_id=pending.call.id,
            idempotency_key=f"{context.run_id}/{pending.number}",
            deps=context.deps,
        )


def pending_calls(turn: int, calls: Sequence[ToolCall]) -> list[PendingCall]:
    """The calls of a turn's answer."""
    return [PendingCall(number=f"{turn}-{index}", call=call) for index, call in enumerate(calls)]


def _message(call: ToolCall, result: ToolResult) -> ToolMessage:
    return ToolMessage(call_id=call.id, tool=call.name, text=result.text, is_error=result.is_error)


def _interrupted(tool: Tool[..., object]) -> ToolResult:
    return ToolResult(
        f"interrupted, outcome unknown: the process ended while {tool.name} was called. "
        "It may or may not have taken effect, and has not been called again.",
        is_error=True,
    )
