"""What a run may still use: by its agent's own budget, and by the shared budget of the root run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .._definition._budget import Budget, Spent
from ..errors import BudgetExceeded

COUNTER: Final = "counter"  # where a run keeps its counter while a process works on it


class Counter:
    """What a root run and all runs below it have used together, as far as this process knows.

    A run takes part from its first turn in this process on, including what it used before. Turns are reserved before
    the model is asked, so that concurrent runs cannot use one turn twice.
    """

    def __init__(self) -> None:
        self._used: dict[str, Spent] = {}
        self._reserved = 0

    @property
    def spent(self) -> Spent:
        """The total, including turns in progress."""
        return sum(self._used.values(), Spent(turns=self._reserved))

    def note(self, run_id: str, spent: Spent) -> None:
        """Record what a run has used, with the runs below it that have ended."""
        self._used[run_id] = spent

    def settle(self, run_id: str, total: Spent) -> None:
        """Record what a run has used with all runs below it, while none of these is in progress."""
        for known in [known for known in self._used if known.startswith(f"{run_id}.")]:
            del self._used[known]
        self._used[run_id] = total

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Reserve a turn for as long as the model is asked."""
        self._reserved += 1
        try:
            yield
        finally:
            self._reserved -= 1


class Allowance:
    """What a run may do next.

    Args:
        agent: Name of the agent.
        budget: Its own.
        root: Name and budget of the root agent, and the number of agents above; each of them needs a turn of its own to
            answer. None if nothing is shared.
    """

    def __init__(self, agent: str, budget: Budget, root: tuple[str, Budget, int] | None = None) -> None:
        self._agent = agent
        self._budget = budget
        self._root = root

    def check_turn(self, own: Spent, shared: Spent) -> None:
        """Check that there may be another turn.

        Raises:
            BudgetExceeded: There may not.
            CostUnknown: The cost is limited, and not known.
        """
        self._budget.check_turn(self._agent, own)
        if self._root is not None:
            name, budget, depth = self._root
            budget.check_turn(name, shared, keep=depth)

    def may_call(self, own: Spent, shared: Spent) -> bool:
        """Whether the requested calls may be made."""
        try:
            self._budget.check_calls(self._agent, own)
            if self._root is not None:
                name, budget, depth = self._root
                budget.check_calls(name, shared, keep=depth)
        except BudgetExceeded:
            return False
        return True

    def is_last_turn(self, own: Spent, shared: Spent) -> bool:
        """Whether the next turn is the last one."""
        if self._root is not None and self._root[1].is_last_turn(shared, keep=self._root[2]):
            return True
        return self._budget.is_last_turn(own)
