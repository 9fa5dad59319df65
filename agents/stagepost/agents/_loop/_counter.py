"""What a run may still use: by its agent's own budget, and by the shared budget of the root run."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from .._definition._budget import Budget, Spent
from .._delegation._state import EARLIER
from ..errors import BudgetExceeded

COUNTER: Final = "counter"  # where a run keeps its counter while a process works on it


class Counter:
    """What a root run and all runs below it have used together, as far as this process knows.

    A run takes part from its first turn in this process on, including what it used before. Turns are reserved before
    the model is asked, so that concurrent runs cannot use one turn twice. However many runs a run has below it, it
    counts but few: those of its last answer, and all before them as one.
    """

    def __init__(self) -> None:
        self._used: dict[str, Spent] = {}
        self._settled: dict[str, dict[str, Spent]] = {}  # of runs that have finished, by the run above them
        self._reserved = 0

    @property
    def spent(self) -> Spent:
        """The total, including turns in progress."""
        total = sum(self._used.values(), Spent(turns=self._reserved))
        for settled in self._settled.values():
            total = sum(settled.values(), total)
        return total

    def note(self, run_id: str, spent: Spent) -> None:
        """Record what a run has used by itself."""
        self._used[run_id] = spent

    def settle(self, run_id: str, total: Spent) -> None:
        """Record what a finished run has used, with all runs below it."""
        below = f"{run_id}."
        for known in (self._used, self._settled):
            for gone in [other for other in known if other == run_id or other.startswith(below)]:
                del known[gone]
        self._settled.setdefault(run_id.rpartition(".")[0], {})[run_id] = total

    def fold(self, run_id: str, total: Spent) -> None:
        """Record what the finished runs below a run have used, instead of each of them that is recorded."""
        self._settled[run_id] = {run_id: total}

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Reserve a turn for as long as the model is asked."""
        self._reserved += 1
        try:
            yield
        finally:
            self._reserved -= 1


class Shares:
    """What a run counts besides its own turns: child runs, each with its total.

    Args:
        run_id: The run.
        nested: Totals of finished child runs, by their keys, as `stored` in the state; `EARLIER` are several as one.
    """

    def __init__(self, run_id: str, nested: Mapping[str, Mapping[str, float]]) -> None:
        self._run_id = run_id
        self._nested = {key: Spent.read(total) for key, total in nested.items()}

    def tell(self, counter: Counter, own: Spent) -> None:
        """Bring a counter up to date with what the run has used."""
        counter.note(self._run_id, own)
        if EARLIER in self._nested:
            counter.fold(self._run_id, self._nested[EARLIER])
        for key, total in self._nested.items():
            if key != EARLIER:
                counter.settle(f"{self._run_id}.{key}", total)

    def total(self, own: Spent) -> Spent:
        """What the run and all below it have used."""
        return sum(self._nested.values(), own)


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
