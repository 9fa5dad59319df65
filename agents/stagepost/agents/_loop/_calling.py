"""The tool calls of one answer: concurrent, each saved when it ends, the results in the order of the calls."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from stagepost.workflows import AnswerTypes, Parallel, State, Step, StepContext, step

from .._context._excerpt import READ_RESULT, read_result
from .._definition._hooks import is_tool_hook
from .._definition._progress import ProgressHook
from .._delegation._calls import LANE, Aside, Lane, PendingCall
from .._delegation._delegation import Delegation
from .._delegation._records import Changes
from .._delegation._state import RunState
from .._models._messages import ChatMessage, ToolCall
from .._tools._answer_reader import AnswerReader
from .._tools._invoking import ToolResult
from ..errors import McpUnavailable, ToolsetFailed
from ._accounting import Accounting
from ._handed import Transcript
from ._keeping import keepable
from ._made import MADE, MadeCall, in_order, result_message
from ._member import Member
from ._offer import Offer, kept
from ._one_call import OneCall, leaves_mark, unmade
from ._pending_calls import PendingCalls
from ._traced import traced_result

_MOST_AT_ONCE: Final = 100
_READ_LATER: Final = ToolResult("")
_USUAL_LIMIT: Final = 20_000  # characters that are read at once, where results have no limit


class ToolCalling:
    """Makes tool calls.

    Args:
        member: The agent.
        accounting: Keeps its runs within budgets.
        reader: Knows the tools that end a run; a call of one that comes here does not fit.
        delegation: Asks other agents.
        pending: Knows what is to be called in a state.
        offer: Finds what there is to call.
        transcript: Shows what was said, as the agent sees it.
    """

    def __init__(
        self,
        member: Member,
        accounting: Accounting,
        reader: AnswerReader,
        delegation: Delegation,
        *,
        pending: PendingCalls,
        offer: Offer,
        transcript: Transcript,
    ) -> None:
        self._member = member
        self._accounting = accounting
        self._reader = reader
        self._delegation = delegation
        self._pending = pending
        self._offer = offer
        self._transcript = transcript
        self._hooks = tuple(hook for hook in member.hooks if is_tool_hook(hook))
        self._progress_hooks = tuple(hook for hook in member.hooks if isinstance(hook, ProgressHook))

    def may_begin(self, call: ToolCall, context: StepContext) -> bool:
        """Whether the only call of an answer may begin with its commit: it needs no approval, and leaves a mark."""
        toolbox = None if self._hooks else kept(context)
        tool = None if toolbox is None else toolbox.tools.get(call.name)
        return tool is not None and leaves_mark(tool) and self._member.approvals.rule(tool) is None

    async def in_turn(self, given: State, context: StepContext) -> Changes:
        """Make the calls of the last answer one after another."""
        state = RunState(given)
        self._accounting.check_due(state)
        calls, begun = state.last_calls, state.begun
        pending = self._pending.in_turn(state, calls)
        if begun is not None:
            pending = [each._replace(begun=each.number == begun) for each in pending]
        if begun is None or not any(each.begun for each in pending):  # otherwise it was checked before that was saved
            self._accounting.check_shared(context)
        asides: list[Aside] = []
        messages: list[ChatMessage] = []
        for each in pending:
            call = calls[each.position]
            asides.append(aside := Aside())
            reads = call.name == READ_RESULT
            result = self._read(state, call) if reads else await self._made(call, each, context, aside, state)
            messages.append(result_message(each.id, each.name, result, keeps_json=state.is_in_program))
        return state.with_results(messages, asides)

    def lanes(self, given: State) -> Sequence[Lane]:
        """The calls of the last answer, grouped by what may run at once."""
        state = RunState(given)
        self._accounting.check_due(state)
        return self._pending.of_last(state)

    async def lane(self, item: Lane, context: StepContext) -> Sequence[MadeCall]:
        """Make the calls of a group."""
        self._accounting.check_shared(context)
        of_program = RunState(context.outer_state).is_in_program
        made: list[MadeCall] = []
        for pending in item:
            aside = Aside()
            result = await self._made(pending.call, pending, context, aside)
            made.append(MadeCall.of(pending, result, aside, keeps_json=of_program))
        return tuple(made)

    async def _made(
        self, call: ToolCall, pending: PendingCall, context: StepContext, aside: Aside, state: RunState | None = None
    ) -> ToolResult:
        made = self._result(call, pending, context, aside, state)
        tracing = context.tracing
        if tracing is not None:
            is_delegated = self._delegation.answers(call.name)
            made = traced_result(made, tracing, pending, context, member=self._member, is_delegated=is_delegated)
        result = keepable(await made, context)
        if result.is_error:  # such as that of a hook: then nothing is handed over
            aside.handoff = None
        return result

    async def _result(
        self, call: ToolCall, pending: PendingCall, context: StepContext, aside: Aside, state: RunState | None
    ) -> ToolResult:
        complaint = pending.complaint or self._reader.complaint(call)
        if complaint is not None:
            return ToolResult(complaint, is_error=True)
        if call.name == READ_RESULT:
            return _READ_LATER
        try:
            toolbox = kept(context) or await self._offer.again(state or RunState(context.outer_state), context)
        except (McpUnavailable, ToolsetFailed) as error:
            return unmade(call, pending, context, f"nothing was called: {error}")
        tool = toolbox.tools.get(call.name)
        if tool is None:
            return unmade(call, pending, context, f"there is no tool {call.name!r}; there are: {toolbox.names}")
        hooks = self._hooks, self._progress_hooks
        return await OneCall(self._member, self._delegation, *hooks, tool, pending, context, aside).made(call)

    def in_order(self, given: State, results: Sequence[Sequence[MadeCall]]) -> Changes:
        """The results of the calls that were made at once, in the order of the calls."""
        state = RunState(given)
        return in_order(state, [[self._with_reading(state, made) for made in lane] for lane in results])

    def _with_reading(self, state: RunState, made: MadeCall) -> MadeCall:
        """The result of a call of ``read_result``, which is read where the transcript is known."""
        if made.tool != READ_RESULT:
            return made
        result = self._read(state, state.last_calls[made.index])
        return replace(made, text=result.text, is_error=result.is_error)

    def _read(self, state: RunState, call: ToolCall) -> ToolResult:
        limit = self._member.context.result_limit or _USUAL_LIMIT
        return read_result(self._transcript.of(state), call.arguments, limit)


def several(
    lanes: Callable[[State], Sequence[Lane]],
    lane: Callable[[Lane, StepContext], Awaitable[Sequence[MadeCall]]],
    merge: Callable[[State, Sequence[Sequence[MadeCall]]], Changes],
    answers: AnswerTypes,
) -> Parallel:
    """The fan-out over calls that may run at once; the results are in the order of the calls."""
    made = replace(step("call", lane, answers=answers), takes=LANE, gives=MADE)
    return Parallel("tools", made, over=lanes, merge=merge, workers=_MOST_AT_ONCE)


def one(in_turn: Callable[[State, StepContext], Awaitable[Changes]], answers: AnswerTypes) -> Step:
    """The step that makes calls one after another: it needs no items, and so fewer commits."""
    return step("tool", in_turn, answers=answers)
