"""The tool calls of one answer: at once, each saved when it ends, none with effects ever made twice.

A tool that is not idempotent is called only where nobody has been before: that a process goes there is saved first. So
wherever a process is killed, the next one finds one of these:

- nothing: the tool was not called; it is now.
- a beginning and no result: the call may or may not have been made; the model is told that nobody knows.
- a result: it stands.

An idempotent tool leaves no mark and is called again. The arguments are checked before anything else, each time: a call
that cannot be made was never made.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from stagepost.workflows import Parallel, State, StepContext, step

from ._arguments import InvalidArguments
from ._closing import Closing
from ._context import ToolContext
from ._invoking import ToolResult, invoke
from ._messages import ToolCall, ToolMessage
from ._tool import Tool

_MOST_AT_ONCE: Final = 100


class _Bound(NamedTuple):
    """A call that can be made."""

    tool: Tool[..., object]
    arguments: Mapping[str, object]


class ToolCalling:
    """Makes tool calls.

    Args:
        agent: Name of the agent.
        tools: Its tools.
        closing: Knows the tools that end a run; a call of one that comes here does not fit.
    """

    def __init__(self, agent: str, tools: Sequence[Tool[..., object]], closing: Closing) -> None:
        self._agent = agent
        self._tools = {tool.name: tool for tool in tools}
        self._closing = closing

    def pattern(self, over: Callable[[State], Sequence[Any]]) -> Parallel:
        """The fan-out over pending calls, whose results are said in the order of the calls.

        Args:
            over: The calls of a state, made by `pending_calls`.
        """
        return Parallel("tools", step("call", self._make), over=over, merge=_said, workers=_MOST_AT_ONCE)

    async def _make(self, item: Mapping[str, Any], context: StepContext) -> dict[str, object]:
        call = ToolCall(id=item["id"], name=item["name"], arguments=item["arguments"])
        found = self._find(call)
        if isinstance(found, ToolResult):
            result = found
        elif found.tool.idempotent or await context.first("call"):
            result = await invoke(found.tool, found.arguments, self._context(item, context))
        else:
            result = _interrupted(found.tool)
        return {"call_id": call.id, "tool": call.name, "text": result.text, "is_error": result.is_error}

    def _find(self, call: ToolCall) -> _Bound | ToolResult:
        """The tool and its arguments, or what is wrong with the call."""
        complaint = self._closing.complaint(call)
        if complaint is not None:
            return ToolResult(complaint, is_error=True)
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join((*self._tools, *(tool.name for tool in self._closing.tools))) or "none"
            return ToolResult(f"there is no tool {call.name!r}; there are: {known}", is_error=True)
        try:
            return _Bound(tool, tool.parse(call.arguments))
        except InvalidArguments as error:
            return ToolResult(f"the arguments do not fit, nothing was called: {error}", is_error=True)

    def _context(self, item: Mapping[str, Any], context: StepContext) -> ToolContext:
        return ToolContext(
            run_id=context.run_id,
            agent=self._agent,
            call_id=item["id"],
            idempotency_key=f"{context.run_id}/{item['number']}",
            deps=context.deps,
        )


def pending_calls(turn: int, calls: Sequence[ToolCall]) -> list[Mapping[str, str]]:
    """The calls of a turn's answer as items; their number is, unlike the model's id, never the same twice in a run."""
    return [
        {"number": f"{turn}-{index}", "id": call.id, "name": call.name, "arguments": call.arguments}
        for index, call in enumerate(calls)
    ]


def _said(_state: State, results: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    return {"messages": [ToolMessage(**result) for result in results], "calls": []}


def _interrupted(tool: Tool[..., object]) -> ToolResult:
    return ToolResult(
        f"interrupted, outcome unknown: the process ended while {tool.name} was called. "
        "It may or may not have taken effect, and has not been called again.",
        is_error=True,
    )
