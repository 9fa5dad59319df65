"""What the handles of runs wait for, for as long as somebody holds one."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from stagepost.checkpoint import RunStatus

from ._run import Outcome

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_FAILURES_KEPT: Final = 100


class Outcomes:
    """One outcome for each run, shared by all its handles, so that whoever holds one hears of its end.

    The last failures are kept for handles that are made later: in the store there is only their text.

    Args:
        log: Where runs that are dead are logged; None for nowhere.
    """

    def __init__(self, log: "BoundLogger | None" = None) -> None:
        self._log = log
        self._failures: OrderedDict[str, BaseException] = OrderedDict()
        self._known: WeakValueDictionary[str, Outcome] = WeakValueDictionary()
        self._why: Callable[[str], Exception] | None = None

    def of(self, run_id: str) -> Outcome:
        """The run's outcome; a new one if it has been said before, or nobody holds it."""
        outcome = self._known.get(run_id)
        if outcome is None or outcome.is_known:
            outcome = self._known[run_id] = Outcome(partial(self._note, run_id))
        return outcome

    def failure(self, run_id: str) -> BaseException | None:
        """Why a run has failed, if that was in this process, and not long ago."""
        return self._failures.get(run_id)

    def _note(self, run_id: str, status: RunStatus, error: BaseException) -> None:
        """What a run has come to that did not complete."""
        self._failures.pop(run_id, None)
        if status is RunStatus.FAILED:
            self._failures[run_id] = error
            if len(self._failures) > _FAILURES_KEPT:
                self._failures.popitem(last=False)
        elif self._log is not None and status is RunStatus.DEAD:
            self._log.error("run is dead", run_id=run_id, why=str(error))

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
