"""One tool call: with approval if needed, with hooks around it, and never made twice if it has effects.

A tool that is not idempotent is called only if no process has begun the call before: the beginning is saved first (see
`_beginning`). So wherever a process is killed, the next one finds one of these:

- nothing: the tool was not called; it is now.
- a beginning and no result: the call may or may not have been made; the model is told that nobody knows, or the run
  waits for a person's verdict.
- a result: it is used.

An idempotent tool leaves no mark and is called again. A call that another agent answers is a child run, which is joined
again. The arguments are checked before anything else, each time: an invalid call was never made.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from inspect import isawaitable
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from stagepost._dataclasses import dataclass
from stagepost.workflows import StepContext

from .._definition._approvals import Allow, Decision, Deny, asked, decided, expired
from .._definition._definition import MESSAGE_AGENT
from .._definition._hooks import ToolHook, tool_chain
from .._delegation._calls import Aside, PendingCall
from .._delegation._delegate_tool import DelegateTool
from .._delegation._delegation import Delegation
from .._delegation._handoff import Handoff
from .._models._messages import ToolCall
from .._models._parts import Part
from .._tools._arguments import InvalidArguments
from .._tools._context import ToolContext
from .._tools._invoking import ToolResult, invoke
from .._tools._step_tool import StepTool
from .._tools._tool import Tool
from ..errors import InvalidDecision, NobodyToAsk
from ._beginning import call_key, is_first, is_in_doubt, mark
from ._keeping import keepable, shown
from ._member import Member
from ._session import Approve, Session

_PARTS: Final = TypeAdapter[tuple[Part, ...]](tuple[Part, ...])


@dataclass(slots=True)
class OneCall:
    """One call of an existing tool.

    Attributes:
        member: The agent that wants it.
        delegation: Asks other agents.
        hooks: The hooks around it.
        tool: The tool.
        entry: The pending call.
        context: The step that makes it.
        aside: Collects further information for the run.
        result: Its result, if it must not be made twice, however often hooks call on.
    """

    member: Member
    delegation: Delegation
    hooks: Sequence[ToolHook]
    tool: Tool[..., object]
    entry: PendingCall
    context: StepContext
    aside: Aside
    result: ToolResult | None = None

    async def made(self, call: ToolCall) -> ToolResult:
        """The result, once it is approved."""
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
        """The call as approved, or the text for the model."""
        session: Session = self.context.resources
        decision: Allow | Deny
        if session.approve is not None:
            decision = await self._approved(session.approve, call)
        elif not self.context.is_durable:
            raise NobodyToAsk(self.member.agent.name, call.name, rule)
        else:
            decision = await self.context.wait_for_answer(
                f"approve-{self.entry.number}",
                expect=Decision,
                show=asked(self.member.agent.name, call, rule),
                within=self.member.approvals.within,
                otherwise=expired(call),
            )
        told = decided(call, decision)
        return ToolResult(told, is_error=True) if isinstance(told, str) else told

    async def _approved(self, approve: Approve, call: ToolCall) -> Allow | Deny:
        """What a function says to a call.

        Raises:
            InvalidDecision: It says something else, or cannot be awaited.
        """
        given: object = approve  # any error is reported
        decision = given(call) if callable(given) else given
        if isawaitable(decision):
            decision = await decision
        if not isinstance(decision, Allow | Deny):
            raise InvalidDecision(decision, f"what approve= says to a call of {call.name!r}")
        return decision

    def _complaint(self, call: ToolCall) -> ToolResult | None:
        try:
            self.tool.parse(call.arguments)
        except InvalidArguments as error:
            return ToolResult(_misfit(error), is_error=True)
        return None

    async def _through(self, call: ToolCall, context: ToolContext | None) -> ToolResult:
        """Make it."""
        try:
            arguments = self.tool.parse(call.arguments)
        except InvalidArguments as error:
            return unmade(call, self.entry, self.context, _misfit(error))
        made = self._made_here(arguments)
        if made is not None:
            return await made
        if context is None and self.tool.takes_context:
            context = self._tool_context()
        invoked = partial(invoke, self.tool, arguments, context, is_own=self.context.is_durable)
        if self.tool.idempotent:
            return await invoked()
        if self.result is None:
            self.result = await self._at_most_once(invoked, call)
        return self.result

    def _made_here(self, arguments: Mapping[str, object]) -> Awaitable[ToolResult] | None:
        """The result of a tool that is part of the loop; None for one that is a function."""
        match self.tool:
            case DelegateTool():
                return self.delegation.ask(self.tool, arguments, self.entry, self.context, self.aside)
            case Handoff():
                return self.tool.hand_over(self.member.agent.name, self.context, self.aside)
            case StepTool():
                return self.tool.perform(arguments, self._tool_context(), self.context)
            case _ if self.tool.name == MESSAGE_AGENT and self.delegation.has_agents:
                return self.delegation.message(arguments, self.entry, self.context, self.aside)
            case _:
                return None

    async def _at_most_once(self, invoked: Callable[[], Awaitable[ToolResult]], call: ToolCall) -> ToolResult:
        if self.tool.on_unknown == "park":
            await mark(self.entry, self.context)
            return await self._once(invoked, call)
        if self.context.is_durable and not await is_first(self.entry, self.context):  # in memory nobody was before
            return interrupted(self.tool.name)
        return await invoked()

    async def _once(self, invoked: Callable[[], Awaitable[ToolResult]], call: ToolCall) -> ToolResult:
        """The result; if nobody knows whether the call was made, the run waits until somebody says."""

        async def effect() -> dict[str, object]:
            result = keepable(await invoked(), self.context)
            parts = [part.model_dump(mode="json") for part in result.parts]
            return {"tool_result": result.text, "is_error": result.is_error, **({"parts": parts} if parts else {})}

        arguments = shown(from_json(call.arguments), self.context)
        show = {"agent": self.member.agent.name, "tool": call.name, "arguments": arguments}
        value: Any = await self.context.once(call_key(self.entry), effect, show=show)  # or what a person has said
        if isinstance(value, Mapping) and value.keys() - {"parts"} == {"tool_result", "is_error"}:
            return ToolResult(value["tool_result"], value["is_error"], _PARTS.validate_python(value.get("parts", ())))
        return ToolResult(value if isinstance(value, str) else to_json(value).decode())

    def _tool_context(self) -> ToolContext:
        return ToolContext(
            run_id=self.context.run_id,
            agent=self.member.agent.name,
            call_id=self.entry.id,
            idempotency_key=f"{self.context.run_id}/{self.entry.number}",
            deps=self.context.deps,
            model=self.member.model,
            secrets=self.context.secrets,
            path=self.member.path,
            turn=self.entry.turn + 1,
            labels=self.context.labels,
        )


def leaves_mark(tool: Tool[..., object]) -> bool:
    """Whether the beginning of a call is saved, and a process that finds the mark tells the model."""
    asks_agent = tool.name == MESSAGE_AGENT or isinstance(tool, DelegateTool)
    return not asks_agent and not tool.idempotent and tool.on_unknown == "tell"


def unmade(call: ToolCall, entry: PendingCall, context: StepContext, why: str) -> ToolResult:
    """Why a call cannot be made; None if an earlier process has begun it, when it was still valid."""
    return interrupted(call.name) if is_in_doubt(entry, context) else ToolResult(why, is_error=True)


def interrupted(tool: str) -> ToolResult:
    """The result of a call of which nobody knows whether it was made."""
    return ToolResult(
        f"interrupted, outcome unknown: the process ended while {tool} was called. "
        "It may or may not have taken effect, and has not been called again.",
        is_error=True,
    )


def _misfit(error: InvalidArguments) -> str:
    return f"the arguments do not fit, nothing was called: {error}"
