"""The tool calls of one answer: at once, each saved when it ends, none with effects ever made twice.

A tool that is not idempotent is called only where nobody has been before: that a process goes there is saved first. So
wherever a process is killed, the next one finds one of these:

- nothing: the tool was not called; it is now.
- a beginning and no result: the call may or may not have been made; the model is told that nobody knows, or the run
  waits until somebody says.
- a result: it stands.

An idempotent tool leaves no mark and is called again. A call that another agent answers is a run of its own, which is
joined again. The arguments are checked before anything else, each time: a call that cannot be made was never made.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from pydantic_core import to_json

from stagepost.workflows import Parallel, State, Step, StepContext, step

from ._approvals import Allow, Decision, Deny, asked, decided, expired
from ._arguments import InvalidArguments
from ._closing import Closing
from ._context import ToolContext
from ._counter import COUNTER, Counter
from ._definition import MESSAGE_AGENT
from ._delegating import DelegateTool
from ._delegation import Delegation
from ._hooks import ToolHook, tool_chain
from ._invoking import ToolResult, invoke
from ._keeping import keepable
from ._member import Member
from ._messages import ToolCall, ToolMessage
from ._messaging import Entry, Lane, grown
from ._session import Session
from ._tool import Tool
from ._toolbox import TOOLBOX, Toolbox
from .errors import McpUnavailable, NobodyToAsk

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
        self._hooks = tuple(hook for hook in member.agent.hooks if isinstance(hook, ToolHook))

    def several(self) -> Parallel:
        """The fan-out over what may go on at once; the results are said in the order of the calls."""
        made = step("call", self._lane, answers=Decision)
        return Parallel("tools", made, over=self._items, merge=_in_order, workers=_MOST_AT_ONCE)

    def one(self) -> Step:
        """The step that makes what is to be made one call after the other: it needs no items, and so fewer commits."""
        return step("tool", self._step, answers=Decision)

    async def _step(self, state: State, context: StepContext) -> dict[str, object]:
        calls, lanes = self._due(state)
        self._check_shared(context)
        made = [await self._made(calls[entry["index"]], entry, context) for lane in lanes for entry in lane]
        return _said(state, made)

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
            return _unmade(call, entry, context, f"nothing was called: {error}")
        tool = toolbox.tools.get(call.name)
        if tool is None:
            return _unmade(call, entry, context, f"there is no tool {call.name!r}; there are: {toolbox.names}")
        return await _Call(self._member, self._delegation, self._hooks, tool, entry, context, said).made(call)


@dataclass(slots=True)
class _Call:
    """One call of a tool that there is."""

    member: Member
    delegation: Delegation
    hooks: Sequence[ToolHook]
    tool: Tool[..., object]
    entry: Entry
    context: StepContext
    said: dict[str, object]
    result: ToolResult | None = None  # of a call that must not be made twice, whatever hooks do

    @property
    def key(self) -> str:
        """Its name among the effects of the step."""
        return _key(self.entry)

    async def made(self, call: ToolCall) -> ToolResult:
        """What comes of it, once it is allowed."""
        rule = self.member.approvals.rule(self.tool)
        if rule is not None:
            told = self._complaint(call) or await self._allowed(call, rule)
            if isinstance(told, ToolResult):
                return told
            call = told
        if not self.hooks:
            return await self._through(call, None)
        return await tool_chain(self.hooks, self._through)(call, self._tool_context())

    async def _allowed(self, call: ToolCall, rule: str) -> ToolCall | ToolResult:
        """The call as a person has allowed it, or what is told instead."""
        session: Session = self.context.resources
        decision: Allow | Deny
        if session.approve is not None:
            decision = await session.approve(call)
        elif not self.context.is_durable:
            raise NobodyToAsk(self.member.agent.name, call.name, rule)
        else:
            decision = await self.context.wait_for_answer(
                f"approve-{self.entry['number']}",
                expect=Decision,
                show=asked(self.member.agent.name, call, rule),
                within=self.member.approvals.within,
                otherwise=expired(call),
            )
        told = decided(call, decision)
        return ToolResult(told, is_error=True) if isinstance(told, str) else told

    def _complaint(self, call: ToolCall) -> ToolResult | None:
        try:
            self.tool.parse(call.arguments)
        except InvalidArguments as error:
            return _misfit(error)
        return None

    async def _through(self, call: ToolCall, context: ToolContext | None) -> ToolResult:
        """Make it."""
        try:
            arguments = self.tool.parse(call.arguments)
        except InvalidArguments as error:
            return _misfit(error)
        if self.tool.name == MESSAGE_AGENT and self.delegation.has_agents:
            return await self.delegation.message(arguments, self.entry, self.context, self.said)
        if isinstance(self.tool, DelegateTool):
            return await self.delegation.ask(self.tool, arguments, self.entry, self.context, self.said)
        if context is None and self.tool.takes_context:
            context = self._tool_context()
        invoked = partial(invoke, self.tool, arguments, context)
        if self.tool.idempotent:
            return await invoked()
        if self.result is None:
            self.result = await self._at_most_once(invoked)
        return self.result

    async def _at_most_once(self, invoked: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        if self.tool.on_unknown == "park":
            return await self._once(invoked)
        return await invoked() if await self.context.first(self.key) else _interrupted(self.tool.name)

    async def _once(self, invoked: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        """The result; if nobody knows whether the call was made, the run waits until somebody says what came of it."""

        async def effect() -> dict[str, object]:
            result = keepable(await invoked(), self.context)
            return {"tool_result": result.text, "is_error": result.is_error}

        value: Any = await self.context.once(self.key, effect)  # or what a person has said
        if isinstance(value, Mapping) and value.keys() == {"tool_result", "is_error"}:
            return ToolResult(value["tool_result"], is_error=value["is_error"])
        return ToolResult(value if isinstance(value, str) else to_json(value).decode())

    def _tool_context(self) -> ToolContext:
        return ToolContext(
            run_id=self.context.run_id,
            agent=self.member.agent.name,
            call_id=self.entry["id"],
            idempotency_key=f"{self.context.run_id}/{self.entry['number']}",
            deps=self.context.deps,
            model=self.member.model,
            secrets=self.context.secrets,
        )


def pending_calls(turn: int, calls: Sequence[ToolCall]) -> list[Entry]:
    """The calls of a turn's answer as JSON; their number is, unlike the model's id, never the same twice in a run."""
    return [
        {"number": f"{turn}-{index}", "index": index, "id": call.id, "name": call.name, "arguments": call.arguments}
        for index, call in enumerate(calls)
    ]


def _call(entry: Entry) -> ToolCall:
    return ToolCall(id=entry["id"], name=entry["name"], arguments=entry["arguments"])


def _in_order(state: State, results: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, object]:
    return _said(state, sorted((result for lane in results for result in lane), key=lambda result: result["index"]))


def _said(state: State, done: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """What results change in the state."""
    updates: dict[str, object] = {"messages": [_message(result) for result in done]}
    if any("talk" in result for result in done):
        updates["conversations"] = grown(state.get("conversations", {}), done)
    nested = [result["nested"] for result in done if "nested" in result]
    if nested:
        updates["nested"] = {key: spent for one in [state.get("nested", {}), *nested] for key, spent in one.items()}
    return updates


def _message(result: Mapping[str, Any]) -> ToolMessage:
    return ToolMessage(call_id=result["call_id"], tool=result["tool"], text=result["text"], is_error=result["is_error"])


def _misfit(error: InvalidArguments) -> ToolResult:
    return ToolResult(f"the arguments do not fit, nothing was called: {error}", is_error=True)


def _key(entry: Entry) -> str:
    return f"call-{entry['number']}"


def _unmade(call: ToolCall, entry: Entry, context: StepContext, why: str) -> ToolResult:
    """Why a call cannot be made; unless a process before this one has begun it, when there was such a tool."""
    return _interrupted(call.name) if context.has_begun(_key(entry)) else ToolResult(why, is_error=True)


def _interrupted(tool: str) -> ToolResult:
    return ToolResult(
        f"interrupted, outcome unknown: the process ended while {tool} was called. "
        "It may or may not have taken effect, and has not been called again.",
        is_error=True,
    )
