"""Accounting of what a turn may use, and has used."""

from collections.abc import Awaitable
from typing import Final, TypeVar

from stagepost.workflows import StepContext

from .._definition._budget import Spent
from .._delegation._state import RunState
from .._models._messages import Usage
from ._counter import COUNTER, Allowance, Counter
from ._member import Member
from ._session import Session

T = TypeVar("T")

_NOTHING: Final = Spent()


class Accounting:
    """Keeps an agent's runs within its budget, and within that of the root run.

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
        spent, counter = state.spent, None if self._member.is_alone else self._counter(state, context)
        self._allowance.check_turn(spent, spent if counter is None else counter.spent)
        return Account(self._allowance, context.run_id, spent, counter, below=state.below)

    def with_calls(self, state: RunState, calls: int, context: StepContext) -> Spent:
        """What a run has used once the calls are counted that its program wants.

        Args:
            state: The run's state.
            calls: How many these are.
            context: The step that wants them.
        """
        spent = state.spent.after(Usage(), tool_calls=calls, turns=0)
        if not self._member.is_alone:
            self._counter(state, context).note(context.run_id, spent + state.below)
        return spent

    def may_call(self, spent: Spent, context: StepContext) -> bool:
        """Whether the calls may be made that are counted in what a run has used."""
        counter = context.memo.get(COUNTER)
        return self._allowance.may_call(spent, counter.spent if isinstance(counter, Counter) else spent)

    def check_due(self, state: RunState) -> None:
        """Check that the calls of the last answer may be made.

        Raises:
            BudgetExceeded: They may not. This is checked after the commit of the answer, so that it is not lost.
        """
        self._member.agent.budget.check_calls(self._member.agent.name, state.spent)

    def check_shared(self, context: StepContext) -> None:
        """Check that all runs below one root together have not requested too many calls.

        If another process requested these, it checked this before the first of them.

        Raises:
            BudgetExceeded: They have.
        """
        counter = None if self._member.is_alone else context.memo.get(COUNTER)
        if isinstance(counter, Counter):
            name, budget = self._member.root
            budget.check_calls(name, counter.spent, keep=self._member.depth)

    def _counter(self, state: RunState, context: StepContext) -> Counter:
        """The counter of all runs below one root, if there may be more than one."""
        counter = context.memo.get(COUNTER)
        if not isinstance(counter, Counter):
            session: Session = context.resources
            counter = context.memo[COUNTER] = session.counter(state.root or context.run_id)
        counter.settle(context.run_id, state.total)  # when a turn begins, all that it has called has ended
        return counter


class Account:
    """The account of a run during one turn.

    Args:
        allowance: What it may use.
        run_id: The run.
        spent: What it has used before.
        counter: The counter of all runs below one root; None if this is the only run.
        below: What runs below it that have ended have used.

    Attributes:
        spent: What it has used by itself.
    """

    __slots__ = ("_allowance", "_below", "_counter", "_run_id", "spent")

    def __init__(
        self, allowance: Allowance, run_id: str, spent: Spent, counter: Counter | None, *, below: Spent = _NOTHING
    ) -> None:
        self.spent = spent
        self._allowance = allowance
        self._run_id = run_id
        self._below = below
        self._counter = counter

    @property
    def shared(self) -> Spent:
        """What all runs below the root have used."""
        return self.spent if self._counter is None else self._counter.spent

    @property
    def is_last_turn(self) -> bool:
        """Whether there will be no turn after this one."""
        return self._allowance.is_last_turn(self.spent, self.shared)

    @property
    def may_call(self) -> bool:
        """Whether the calls that were asked for may be made."""
        return self._allowance.may_call(self.spent, self.shared)

    def during(self, asking: Awaitable[T]) -> Awaitable[T]:
        """An answer; a turn is reserved for as long as the model is asked."""
        return asking if self._counter is None else _reserved(self._counter, asking)

    def charge(self, usage: Usage, *, tool_calls: int) -> None:
        """Take an answer into account."""
        self.spent = self.spent.after(usage, tool_calls=tool_calls)
        if self._counter is not None:
            self._counter.note(self._run_id, self.spent + self._below)

    def charge_beside(self, usage: Usage) -> None:
        """Take what was asked beside the turns into account, such as a summary: it is no turn."""
        self.spent = self.spent.beside(usage)
        if self._counter is not None:
            self._counter.note(self._run_id, self.spent + self._below)


async def _reserved(counter: Counter, asking: Awaitable[T]) -> T:
    with counter.turn():
        return await asking
