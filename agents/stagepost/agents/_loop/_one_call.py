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

from pydantic_core import from_json, to_jsonable_python

from stagepost._dataclasses import dataclass
from stagepost.workflows import StepContext, own_failure

from .._definition._approvals import APPROVE, Allow, Decision, Deny, asked, decided, expired
from .._definition._definition import MESSAGE_AGENT
from .._definition._hooks import ToolHook, tool_chain
from .._definition._progress import ProgressHook
from .._delegation._calls import Aside, PendingCall
from .._delegation._delegate_tool import DelegateTool
from .._delegation._delegation import Delegation
from .._delegation._handoff import Handoff
from .._models._messages import ToolCall
from .._tools._arguments import InvalidArguments
from .._tools._context import ToolContext
from .._tools._invoking import ToolResult, error_result, invoke
from .._tools._outside import Outside, WaitingTool
from .._tools._search import SearchTool
from .._tools._step_tool import StepTool
from .._tools._tool import Tool
from ..errors import InvalidDecision, NobodyToAnswer, NobodyToAsk
from ._at_most_once import AtMostOnce, interrupted
from ._beginning import is_in_doubt
from ._keeping import shown
from ._member import Member
from ._reporting import Reporting
from ._session import Approve, Session


@dataclass(slots=True)
class OneCall:
    """One call of an existing tool.

    Attributes:
        member: The agent that wants it.
        delegation: Asks other agents.
        hooks: The hooks around it.
        progress_hooks: The hooks that are told how far it is.
        tool: The tool.
        entry: The pending call.
        context: The step that makes it.
        aside: Collects further information for the run.
        result: Its result, if it must not be made twice, however often hooks call on.
        reporting: Takes what is reported of it, once that may be.
    """

    member: Member
    delegation: Delegation
    hooks: Sequence[ToolHook]
    progress_hooks: Sequence[ProgressHook]
    tool: Tool[..., object]
    entry: PendingCall
    context: StepContext
    aside: Aside
    result: ToolResult | None = None
    reporting: Reporting | None = None

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
                f"{APPROVE}{self.entry.number}",
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
        if isinstance(self.tool, WaitingTool):
            return await self._waited(self.tool, arguments, context or self._tool_context())
        made = self._made_here(arguments)
        return await (self._called(call, arguments, context) if made is None else made)

    async def _called(self, call: ToolCall, arguments: Mapping[str, object], context: ToolContext | None) -> ToolResult:
        """The result of a tool that is a function."""
        if context is None and self.tool.takes_context:
            context = self._tool_context()
        invoked = partial(invoke, self.tool, arguments, context, is_own=self.context.is_durable)
        if context is not None and self.progress_hooks:
            invoked = partial(self._reports().during, invoked, context)
        if self.tool.idempotent:
            return await invoked()
        if self.result is None:
            self.result = await self._once(lambda: self._shown(from_json(call.arguments)))(invoked)
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
            case SearchTool():
                return self._searched(self.tool, arguments)
            case _ if self.tool.name == MESSAGE_AGENT and self.delegation.has_agents:
                return self.delegation.message(arguments, self.entry, self.context, self.aside)
            case _:
                return None

    async def _searched(self, tool: SearchTool, arguments: Mapping[str, object]) -> ToolResult:
        """What a search finds, which is offered from now on."""
        found = tool.find(str(arguments["query"]))
        self.aside.found = tuple(each.name for each in found)
        return tool.told(found)

    async def _waited(self, tool: WaitingTool, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        """The result of a call that may wait for somebody outside."""
        if self.result is None or tool.idempotent:
            self.result = await self._asking(tool, arguments, context)
        return self.result

    async def _asking(self, tool: WaitingTool, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        shown = partial(self._shown, arguments)
        progress = self._reports().of_server(context)
        outside = Outside(self.context, self.entry.number, context, shown, self._once(shown), progress)
        try:
            return await tool.call(arguments, outside)
        except NobodyToAnswer:
            raise
        except BaseException as error:  # noqa: BLE001  # what is no failure of the tool's, such as a wait, is raised again
            return error_result(own_failure(error))

    def _shown(self, arguments: object) -> Mapping[str, object]:
        """A call as people see it."""
        given = shown(to_jsonable_python(arguments), self.context)
        return {"agent": self.member.agent.name, "tool": self.tool.name, "arguments": given}

    def _once(self, shown: Callable[[], Mapping[str, object]]) -> AtMostOnce:
        return AtMostOnce(self.tool, self.entry, self.context, shown)

    def _reports(self) -> Reporting:
        if self.reporting is None:
            hooks, name = self.progress_hooks, self.tool.name
            self.reporting = Reporting(self.member, hooks, name, self.entry, self.context)
        return self.reporting

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
            _report=self._reports().report,
        )


def leaves_mark(tool: Tool[..., object]) -> bool:
    """Whether the beginning of a call is saved, and a process that finds the mark tells the model."""
    marks_itself = tool.name == MESSAGE_AGENT or isinstance(tool, DelegateTool)
    marks_itself = marks_itself or (isinstance(tool, WaitingTool) and not tool.leaves_mark)
    return not marks_itself and not tool.idempotent and tool.on_unknown == "tell"


def unmade(call: ToolCall, entry: PendingCall, context: StepContext, why: str) -> ToolResult:
    """Why a call cannot be made; None if an earlier process has begun it, when it was still valid."""
    return interrupted(call.name) if is_in_doubt(entry, context) else ToolResult(why, is_error=True)


def _misfit(error: InvalidArguments) -> str:
    return f"the arguments do not fit, nothing was called: {error}"
