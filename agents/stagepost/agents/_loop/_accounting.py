"""What a turn may still use, and what it has used."""

from collections.abc import Awaitable

from stagepost.workflows import StepContext

from .._definition._budget import Spent
from .._delegation._state import RunState
from .._models._messages import Usage
from .._models._model import ModelResponse
from ._counter import COUNTER, Allowance, Counter, Shares
from ._member import Member
from ._session import Session


class Accounting:
    """Keeps an agent's runs within its budget, and within that of the run at the root.

    Args:
        member: The agent.
    """

    def __init__(self, member: Member) -> None:
        self._member = member
        root = None if member.is_alone else (*member.root, member.depth)
        self._allowance = Allowance(member.agent.name, member.agent.budget, root)

    def open(self, state: RunState, context: StepContext) -> "Account":
        """The account of a run for one turn.

        Raises:
            BudgetExceeded: There may not be another turn.
        """
        account = Account(self._allowance, context.run_id, state.spent, self._counter(state, context))
        self._allowance.check_turn(account.spent, account.shared)
        return account

    def check_due(self, state: RunState) -> None:
        """See that the calls which the last answer wants may be made.

        Raises:
            BudgetExceeded: They may not. That is found after the commit of the answer, so that it is not lost.
        """
        self._member.agent.budget.check_calls(self._member.agent.name, state.spent)

    def check_shared(self, context: StepContext) -> None:
        """See that the runs below one root have together asked for no more calls than there may be.

        Where another process has asked for these, it has seen to that before the first of them.

        Raises:
            BudgetExceeded: They have.
        """
        counter = context.memo.get(COUNTER)
        if isinstance(counter, Counter):
            name, budget = self._member.root
            budget.check_calls(name, counter.spent, keep=self._member.depth)

    def _counter(self, state: RunState, context: StepContext) -> Counter | None:
        """What counts the turns of all runs below one root; None where there is but this one."""
        if self._member.is_alone:
            return None
        counter = context.memo.get(COUNTER)
        if not isinstance(counter, Counter):
            session: Session = context.resources
            counter = context.memo[COUNTER] = session.counter(state.root or context.run_id)
        Shares(context.run_id, state.nested).tell(counter, state.spent)
        return counter


class Account:
    """What a run has used, during one turn.

    Args:
        allowance: What it may use.
        run_id: The run.
        spent: What it has used before.
        counter: Counts for all runs below one root; None if there is but this one.

    Attributes:
        spent: What it has used by itself.
    """

    __slots__ = ("_allowance", "_counter", "_run_id", "spent")

    def __init__(self, allowance: Allowance, run_id: str, spent: Spent, counter: Counter | None) -> None:
        self.spent = spent
        self._allowance = allowance
        self._run_id = run_id
        self._counter = counter

    @property
    def shared(self) -> Spent:
        """What all runs below one root have used."""
        return self.spent if self._counter is None else self._counter.spent

    @property
    def is_last_turn(self) -> bool:
        """Whether there will be no turn after this one."""
        return self._allowance.is_last_turn(self.spent, self.shared)

    @property
    def may_call(self) -> bool:
        """Whether the calls that were asked for may be made."""
        return self._allowance.may_call(self.spent, self.shared)

    def during(self, asking: Awaitable[ModelResponse]) -> Awaitable[ModelResponse]:
        """An answer; a turn is reserved for as long as the model is asked."""
        return asking if self._counter is None else _reserved(self._counter, asking)

    def charge(self, usage: Usage, *, tool_calls: int) -> None:
        """Take an answer into account."""
        self.spent = self.spent.after(usage, tool_calls=tool_calls)
        if self._counter is not None:
            self._counter.note(self._run_id, self.spent)


async def _reserved(counter: Counter, asking: Awaitable[ModelResponse]) -> ModelResponse:
    with counter.turn():
        return await asking
