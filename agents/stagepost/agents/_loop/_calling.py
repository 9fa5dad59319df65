"""The tool calls of one answer: at once, each saved when it ends, the results in the order of the calls."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from stagepost.workflows import Parallel, State, Step, StepContext, step

from .._definition._approvals import Decision
from .._definition._hooks import ToolHook
from .._delegation._delegation import Delegation
from .._delegation._messaging import Entry, Lane, grown
from .._models._messages import ToolCall, ToolMessage
from .._tools._closing import Closing
from .._tools._invoking import ToolResult
from .._tools._toolbox import TOOLBOX, Toolbox
from ..errors import McpUnavailable
from ._beginning import BEGUN, NOT_BEGUN, with_answer
from ._counter import COUNTER, Counter
from ._keeping import keepable
from ._member import Member
from ._one_call import OneCall, leaves_mark, unmade

_MOST_AT_ONCE: Final = 100


class Due(NamedTuple):
    """What is to be called.

    Attributes:
        calls: All calls of the last answer.
        lanes: What else is known of them, by what may go on at once.
    """

    calls: Sequence[ToolCall]
    lanes: Sequence[Lane]


class ToolCalling:
    """Makes tool calls.

    Args:
        member: The agent.
        closing: Knows the tools that end a run; a call of one that comes here does not fit.
        delegation: Asks other agents.
        due: What is to be called in a state, as the last answer wants it: sees first that it may be called.
        toolbox: Finds what there is to call, where another process has asked the model for the calls.
    """

    def __init__(
        self,
        member: Member,
        closing: Closing,
        delegation: Delegation,
        due: Callable[[State], Due],
        toolbox: Callable[[StepContext], Awaitable[Toolbox]],
    ) -> None:
        self._member = member
        self._closing = closing
        self._delegation = delegation
        self._due = due
        self._toolbox = toolbox
        self._hooks = tuple(hook for hook in member.hooks if isinstance(hook, ToolHook))

    def several(self) -> Parallel:
        """The fan-out over what may go on at once; the results are said in the order of the calls."""
        made = step("call", self._lane, answers=Decision)
        return Parallel("tools", made, over=self._items, merge=_in_order, workers=_MOST_AT_ONCE)

    def one(self) -> Step:
        """The step that makes what is to be made one call after the other: it needs no items, and so fewer commits."""
        return step("tool", self._step, answers=Decision)

    def begun(self, calls: Sequence[ToolCall], turn: int, context: StepContext) -> Mapping[str, object]:
        """What the state has to say for the only call of a turn's answer to have begun with the answer, if it can."""
        if len(calls) != 1 or self._hooks:
            return NOT_BEGUN
        toolbox = context.memo.get(TOOLBOX)
        tool = toolbox.tools.get(calls[0].name) if isinstance(toolbox, Toolbox) else None
        if tool is None or not leaves_mark(tool) or self._member.approvals.rule(tool) is not None:
            return NOT_BEGUN
        return with_answer(call_number(turn, 0), context)

    async def _step(self, state: State, context: StepContext) -> dict[str, object]:
        calls, lanes = self._due(state)
        entries, begun = list(chain.from_iterable(lanes)), state.get(BEGUN)
        for entry in entries:
            entry[BEGUN] = entry["number"] == begun
        if not any(entry[BEGUN] for entry in entries):  # else it was seen to before that was saved
            self._check_shared(context)
        return _said(state, [await self._made(calls[entry["index"]], entry, context) for entry in entries])

    def _items(self, state: State) -> Sequence[Lane]:
        return self._due(state).lanes

    async def _lane(self, item: Lane, context: StepContext) -> list[dict[str, object]]:
        self._check_shared(context)
        return [await self._made(_call(entry), entry, context) for entry in item]

    def _check_shared(self, context: StepContext) -> None:
        """See that the runs below one root have together asked for no more calls than there may be.

        Where another process has asked for these, it has seen to that before the first of them.
        """
        counter = context.memo.get(COUNTER)
        if isinstance(counter, Counter):
            name, budget = self._member.root
            budget.check_calls(name, counter.spent, keep=self._member.depth)

    async def _made(self, call: ToolCall, entry: Entry, context: StepContext) -> dict[str, object]:
        said: dict[str, object] = {}  # what else the run has to know
        result = keepable(await self._result(call, entry, context, said), context)
        return {
            "index": entry["index"],
            "call_id": call.id,
            "tool": call.name,
            "text": result.text,
            "is_error": result.is_error,
            **said,
        }

    async def _result(self, call: ToolCall, entry: Entry, context: StepContext, said: dict[str, object]) -> ToolResult:
        complaint = entry.get("complaint") or self._closing.complaint(call)
        if complaint is not None:
            return ToolResult(complaint, is_error=True)
        try:
            known = context.memo.get(TOOLBOX)
            toolbox = known if isinstance(known, Toolbox) else await self._toolbox(context)
        except McpUnavailable as error:
            return unmade(call, entry, context, f"nothing was called: {error}")
        tool = toolbox.tools.get(call.name)
        if tool is None:
            return unmade(call, entry, context, f"there is no tool {call.name!r}; there are: {toolbox.names}")
        return await OneCall(self._member, self._delegation, self._hooks, tool, entry, context, said).made(call)


def pending_calls(turn: int, calls: Sequence[ToolCall]) -> list[Entry]:
    """The calls of a turn's answer as JSON; their number is, unlike the model's id, never the same twice in a run."""
    return [
        {
            "number": call_number(turn, index),
            "index": index,
            "id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }
        for index, call in enumerate(calls)
    ]


def call_number(turn: int, index: int) -> str:
    """A call's number: that of the turn, and its place among the calls of the turn."""
    return f"{turn}-{index}"


def _call(entry: Entry) -> ToolCall:
    return ToolCall(id=entry["id"], name=entry["name"], arguments=entry["arguments"])


def _in_order(state: State, results: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, object]:
    return _said(state, sorted((result for lane in results for result in lane), key=lambda result: result["index"]))


def _said(state: State, done: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """What results change in the state."""
    updates: dict[str, object] = {"messages": [_message(result) for result in done]}
    talks = [result for result in done if "talk" in result]
    if talks:
        updates["conversations"] = grown(state.get("conversations", {}), talks)
    nested = [result["nested"] for result in done if "nested" in result]
    if nested:
        updates["nested"] = {key: spent for one in [state.get("nested", {}), *nested] for key, spent in one.items()}
    return updates


def _message(result: Mapping[str, Any]) -> ToolMessage:
    return ToolMessage(call_id=result["call_id"], tool=result["tool"], text=result["text"], is_error=result["is_error"])
