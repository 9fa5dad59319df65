"""The tool calls of one answer: at once, each saved when it ends, the results in the order of the calls."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from stagepost.workflows import Parallel, State, Step, StepContext, step

from .._definition._approvals import Decision
from .._definition._hooks import ToolHook
from .._delegation._calls import LANE, Aside, Lane, PendingCall
from .._delegation._delegation import Delegation
from .._delegation._state import Changes, RunState
from .._models._messages import ToolCall
from .._tools._closing import Closing
from .._tools._invoking import ToolResult
from ..errors import McpUnavailable
from ._accounting import Accounting
from ._due import Due
from ._keeping import keepable
from ._made import MADE, MadeCall, in_order, told
from ._member import Member
from ._offer import Offer, known_toolbox
from ._one_call import OneCall, leaves_mark, unmade

_MOST_AT_ONCE: Final = 100


class ToolCalling:
    """Makes tool calls.

    Args:
        member: The agent.
        accounting: Keeps its runs within budgets.
        closing: Knows the tools that end a run; a call of one that comes here does not fit.
        delegation: Asks other agents.
        due: Knows what is to be called in a state.
        offer: Finds what there is to call.
    """

    def __init__(
        self,
        member: Member,
        accounting: Accounting,
        closing: Closing,
        delegation: Delegation,
        *,
        due: Due,
        offer: Offer,
    ) -> None:
        self._member = member
        self._accounting = accounting
        self._closing = closing
        self._delegation = delegation
        self._due = due
        self._offer = offer
        self._hooks = tuple(hook for hook in member.agent.hooks if isinstance(hook, ToolHook))

    def several(self) -> Parallel:
        """The fan-out over what may go on at once; the results are said in the order of the calls."""
        made = replace(step("call", self._lane, answers=Decision), takes=LANE, gives=MADE)
        return Parallel("tools", made, over=self._lanes, merge=_in_order, workers=_MOST_AT_ONCE)

    def one(self) -> Step:
        """The step that makes what is to be made one call after the other: it needs no items, and so fewer commits."""
        return step("tool", self._step, answers=Decision)

    def may_begin(self, call: ToolCall, context: StepContext) -> bool:
        """Whether the only call of an answer may begin with it: nobody has to be asked, and it leaves a mark."""
        toolbox = None if self._hooks else known_toolbox(context)
        tool = None if toolbox is None else toolbox.tools.get(call.name)
        return tool is not None and leaves_mark(tool) and self._member.approvals.rule(tool) is None

    async def _step(self, given: State, context: StepContext) -> Changes:
        state = RunState(given)
        begun = state.begun
        pending = list(chain.from_iterable(self._lanes(given)))
        if begun is not None:
            pending = [replace(call, begun=call.number == begun) for call in pending]
        if not any(call.begun for call in pending):  # else it was seen to before that was saved
            self._accounting.check_shared(context)
        return told(state, [await self._made(call, context) for call in pending])

    def _lanes(self, given: State) -> Sequence[Lane]:
        state = RunState(given)
        self._accounting.check_due(state)
        return self._due.of_last(state)

    async def _lane(self, item: Lane, context: StepContext) -> Sequence[MadeCall]:
        self._accounting.check_shared(context)
        return tuple([await self._made(call, context) for call in item])

    async def _made(self, pending: PendingCall, context: StepContext) -> MadeCall:
        aside = Aside()
        result = await self._result(pending, context, aside)
        return MadeCall.of(pending, keepable(result, context), aside)

    async def _result(self, pending: PendingCall, context: StepContext, aside: Aside) -> ToolResult:
        call = pending.call
        complaint = pending.complaint or self._closing.complaint(call)
        if complaint is not None:
            return ToolResult(complaint, is_error=True)
        try:
            toolbox = await self._offer.known(context)
        except McpUnavailable as error:
            return unmade(call, pending, context, f"nothing was called: {error}")
        tool = toolbox.tools.get(call.name)
        if tool is None:
            return unmade(call, pending, context, f"there is no tool {call.name!r}; there are: {toolbox.names}")
        return await OneCall(self._member, self._delegation, self._hooks, tool, pending, context, aside).made(call)


def _in_order(given: State, results: Sequence[Sequence[MadeCall]]) -> Changes:
    return in_order(RunState(given), results)
