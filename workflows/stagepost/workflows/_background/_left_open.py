"""Runs that stay open though this runner does not go on with them, and who is told why."""

from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from stagepost.checkpoint import CheckpointError, RunInfo, StoreClosed, StoreError, WaitKind

from .._pattern_errors import describe
from .._runs._outcomes import Outcomes
from ..errors import RunnerNotOpen, RunnerStopped
from ._lookout import Lookout
from ._means import Means
from ._shift import Active

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_SHOWN: Final = 20  # runs that one report writes to the log, each in a line


class LeftOpen:
    """Keeps the reason of each, tells those who wait for it, and writes it to the log: nobody else would hear of it.

    What concerns the runner or the store as a whole is no reason of a run's, and is told by them.

    Args:
        means: Whose runs they are.
        outcomes: What the handles of runs wait for.
        lookout: Knows which runs wait for others.
        works_on: Whether somebody works on a run at this moment.
        spawn: Runs a function in the runner's task group.
        log: Where they are logged; shows no secrets.

    Attributes:
        knows_all: Whether each parked run was looked at since the runner was entered.
    """

    def __init__(
        self,
        means: Means,
        outcomes: Outcomes,
        lookout: Lookout,
        works_on: Callable[[str], bool],
        spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], None],
        *,
        log: "BoundLogger",
    ) -> None:
        self._outcomes = outcomes
        self._lookout = lookout
        self._logger = log
        self._owner = means.owner
        self._works_on = works_on
        self._spawn = spawn
        self._reasons: dict[str, BaseException] = {}
        self._stopping = False
        self.knows_all = False

    def reason(self, run_id: str) -> BaseException | None:
        """Why a run does not go on here, as far as is known."""
        return self._reasons.get(run_id)

    def is_fit(self, info: RunInfo) -> bool:
        """Whether it is known that the code of this process can go on with a run: it has begun it, or looked at it."""
        is_ours = info.owner == self._owner
        return is_ours or (self.knows_all and info.run_id not in self._reasons)

    def forget(self, run_id: str) -> None:
        """It goes on."""
        self._reasons.pop(run_id, None)

    def stop(self) -> None:
        """The runner is being left, which tells everybody."""
        self._stopping = True

    def leave(self, run_id: str, error: BaseException) -> None:
        """Nobody goes on with a run that was to go on."""
        if self._note(run_id, error):
            self._log(run_id, error)

    def report(self, found: Mapping[str, BaseException]) -> None:
        """The same of all that a recovery has found."""
        noted = [run_id for run_id, error in found.items() if self._note(run_id, error)]
        for run_id in noted[:_SHOWN]:
            self._log(run_id, found[run_id])
        if len(noted) > _SHOWN:
            self._logger.error("more runs left open", runs=len(noted) - _SHOWN)

    def lose(self, failure: StoreError) -> None:
        """The store takes nothing more, so that all are."""
        if not isinstance(failure, StoreClosed):
            self._logger.error("all runs left open", why=describe(failure))

    def left(self, active: Active) -> None:
        """A run is no longer worked on."""
        error = active.job.outcome.left_with
        if error is not None:
            self.leave(active.job.run_id, error)
        for wait in active.execution.ledger.open_waits if self._reasons else ():
            if wait.kind is WaitKind.CHILD and (why := self.reason(wait.name)) is not None:
                active.job.outcome.leave(why)

    def _note(self, run_id: str, error: BaseException) -> bool:
        """Tell those who wait; returns whether it is to be written to the log."""
        if self._stopping:
            return False
        self._outcomes.of(run_id).leave(error)
        self._spawn(partial(self._leave_above, run_id, error))
        if isinstance(error, StoreClosed | RunnerStopped | RunnerNotOpen):  # somebody is leaving
            return False
        if not isinstance(error, StoreError):
            self._reasons[run_id] = error
        return True

    def _log(self, run_id: str, error: BaseException) -> None:
        self._logger.error("run left open", run_id=run_id, why=describe(error))

    async def _leave_above(self, run_id: str, error: BaseException) -> None:
        """Those that rest until the run has ended are told as well."""
        with suppress(CheckpointError):  # a store that cannot be read any more says so by itself
            for above in await self._lookout.above(run_id):
                if not self._works_on(above):  # it hears of it in the step that waits
                    self._outcomes.of(above).leave(error)
