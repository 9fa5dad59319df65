"""What the handles of runs wait for, for as long as somebody holds one."""

from collections.abc import Collection
from weakref import WeakValueDictionary

from ..errors import RunnerStopped
from ._run import Outcome


class Outcomes:
    """One outcome for each run, shared by all its handles, so that whoever holds one hears of its end."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[str, Outcome] = WeakValueDictionary()

    def of(self, run_id: str) -> Outcome:
        """The run's outcome; a new one if it has been said before, or nobody holds it."""
        outcome = self._known.get(run_id)
        if outcome is None or outcome.is_known:
            outcome = self._known[run_id] = Outcome()
        return outcome

    def close(self, but: Collection[str]) -> None:
        """Say that the runner is left, for all runs but those that say so themselves."""
        for run_id, outcome in tuple(self._known.items()):
            if run_id not in but:
                outcome.leave(RunnerStopped(run_id))
