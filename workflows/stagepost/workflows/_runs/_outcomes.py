"""What the handles of runs wait for, for as long as somebody holds one."""

from collections.abc import Callable, Collection, Sequence
from weakref import WeakValueDictionary

from ._run import Outcome


class Outcomes:
    """One outcome for each run, shared by all its handles, so that whoever holds one hears of its end."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[str, Outcome] = WeakValueDictionary()
        self._why: Callable[[str], Exception] | None = None

    def of(self, run_id: str) -> Outcome:
        """The run's outcome; a new one if it has been said before, or nobody holds it."""
        outcome = self._known.get(run_id)
        if outcome is None or outcome.is_known:
            outcome = self._known[run_id] = Outcome()
        return outcome

    def park(self, run_id: str, waits: Sequence[str]) -> Outcome:
        """The run rests until one of these waits ends; unless nothing goes on here any more."""
        outcome = self.of(run_id)
        outcome.park(waits)
        self.rest(run_id, outcome)
        return outcome

    def rest(self, run_id: str, outcome: Outcome) -> None:
        """The run is not worked on any more, or not now: where nothing goes on here any more, say so."""
        if self._why is not None:
            outcome.leave(self._why(run_id))

    def close(self, why: Callable[[str], Exception], *, but: Collection[str]) -> None:
        """Say that nothing goes on here any more, of all runs but those that say so themselves.

        Args:
            why: The error for a run.
            but: Ids of those that are worked on at this moment.
        """
        self._why = why
        for run_id, outcome in tuple(self._known.items()):
            if run_id not in but:
                outcome.leave(why(run_id))
