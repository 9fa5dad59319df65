"""One turn: ask the model, judge its answer, and account for both in the state."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stagepost.workflows import State, StepContext

from .._delegation._calls import call_number
from .._delegation._records import Changes
from .._delegation._state import FAILURE, OUTPUT, RunState
from .._models._messages import AssistantMessage, ToolCall, UserMessage
from .._tools._answer_reader import Accepted, AnswerReader, GivenUp, Verdict
from ..errors import BudgetExceeded
from ._accounting import Account, Accounting
from ._asking import Asking, as_message
from ._beginning import NOT_BEGUN, with_answer
from ._calling import ToolCalling
from ._news import NO_NEWS, news_of
from ._pending_calls import PendingCalls

if TYPE_CHECKING:
    from ._programming import Programming


class Turn:
    """Executes the turns of an agent's runs.

    Args:
        accounting: Keeps them within budgets.
        asking: Asks the model.
        reader: Judges what it answers.
        pending: Knows which calls may go on at once.
        calling: Knows which call may begin with the answer that wants it.
        programs: Runs the programs that are the agent's answers; None if they are none.
    """

    def __init__(
        self,
        accounting: Accounting,
        asking: Asking,
        reader: AnswerReader,
        pending: PendingCalls,
        calling: ToolCalling,
        *,
        programs: "Programming | None" = None,
    ) -> None:
        self._accounting = accounting
        self._asking = asking
        self._reader = reader
        self._pending = pending
        self._calling = calling
        self._programs = programs
        self.agent = asking.agent

    async def take(self, given: State, context: StepContext) -> Mapping[str, object]:
        """The changes of the next turn to a run's state.

        Raises:
            BudgetExceeded: There may not be another turn.
        """
        state = RunState(given)
        if state.is_over:
            return {}
        try:
            account = self._accounting.open(state, context)
        except BudgetExceeded as error:
            raise error.after(_complaint(state)) from None
        news = await news_of(context, state.heard) if context.has_signals else NO_NEWS
        is_last = account.is_last_turn
        asking = self._asking.ask(state, context, news.messages, is_last=is_last)
        response, seen = await account.during(asking)
        if response is None:
            return seen
        answer = as_message(response, state.turn)
        if self._programs is not None:
            answer = answer.model_copy(update={"calls": ()})  # it was offered none
        account.charge(response.usage, tool_calls=len(answer.calls))
        if self._programs is not None:
            begun = self._programs.begun(context, is_last=is_last) if response.is_final else {}
            said: Changes = {"messages": [*news.messages, answer], "spent": account.spent, "calls": 0, **seen, **begun}
            return {**said, "heard": news.heard} if news.heard else said
        verdict = self._reader.judge(answer, is_final=response.is_final)
        late = NO_NEWS if verdict.end is None else await news_of(context, news.heard or state.heard)
        changes: Changes = {
            "messages": [*news.messages, answer, *verdict.messages, *late.messages],
            "spent": account.spent,
            **seen,
            **self._next(state, answer, verdict, account, context),
        }
        if heard := late.heard or news.heard:
            changes["heard"] = heard
        if verdict.end is not None and not late.messages:  # else it is asked again: it does not know of these
            changes.update(_ended(verdict.end))
        return changes

    def _next(
        self, state: RunState, answer: AssistantMessage, verdict: Verdict, account: Account, context: StepContext
    ) -> Changes:
        """The next calls after an answer: how many at once, and whether the only one begins with it."""
        now = context.clock()
        calls = 0 if verdict.end is not None else self._pending.at_once(state, answer, now)
        changes: Changes = {"calls": calls}
        if self._pending.is_timed:
            changes["at"] = now
        if calls == 1 and context.is_durable and account.may_call:
            changes.update(self._begun(answer.calls, state.turn, context))
        return changes

    def _begun(self, calls: Sequence[ToolCall], turn: int, context: StepContext) -> Changes:
        if len(calls) == 1 and self._calling.may_begin(calls[0], context):
            return with_answer(call_number(turn, 0), context)
        return NOT_BEGUN


def _complaint(state: RunState) -> str:
    """The complaint about the model's last answer, if any."""
    said = state.messages[-1]
    return said.text if isinstance(said, UserMessage) and state.spent.turns else ""


def _ended(end: Accepted | GivenUp) -> Changes:
    return {OUTPUT: end.output} if isinstance(end, Accepted) else {FAILURE: end.reason}
