"""Where each run is: one `Record` for each, one way to change its state, one place to ask."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from stagepost.checkpoint import RunInfo, RunStatus

from .._bell import Bell
from .._ids import below, is_child
from ._record import Record
from ._rooms import Rooms
from ._statistics import RunnerStatistics
from ._stay import BEGINNINGS, TRANSITIONS, IllegalTransition, Stay

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_FAILURES_KEPT: Final = 100
_BUSY: Final = frozenset({Stay.STORING, Stay.CLAIMING, Stay.RUNNING})


class Presence:
    """All records.

    The last failures are kept for handles that are made later, since the store has only their text.

    Args:
        log: Where dead runs are logged.
        rooms: Who listens to runs.

    Attributes:
        rooms: Who listens to runs.
    """

    def __init__(self, log: "BoundLogger | None" = None, rooms: Rooms | None = None) -> None:
        self._log = log
        self.rooms = rooms or Rooms()
        self._records: WeakValueDictionary[str, Record] = WeakValueDictionary()
        self._failures: OrderedDict[str, BaseException] = OrderedDict()
        self._why: Callable[[str], BaseException] | None = None
        self._changed = Bell()
        self._stored = 0
        self._more_stored = Bell()

    def begin(self, run_id: str, workflow: str, stay: Stay) -> Record:
        """A record of a run that comes to this process.

        Raises:
            IllegalTransition: It cannot come to this state at once, or is here already.
        """
        known = self.find(run_id)
        if stay not in BEGINNINGS or known is not None:
            raise IllegalTransition(run_id, None if known is None else known.stay, stay)
        record = self._records[run_id] = Record(run_id, workflow, stay, self.rooms)
        if stay is Stay.PARKED:
            record.status = RunStatus.WAITING
            self._close_resting(record)
        return record

    def find(self, run_id: str) -> Record | None:
        """The record of a run that is here and neither ended nor lost."""
        record = self._records.get(run_id)
        return None if record is None or record.is_over else record

    def running(self) -> Sequence[Record]:
        """Those that are executed."""
        return [record for record in self._here() if record.stay is Stay.RUNNING]

    def statistics(self) -> RunnerStatistics:
        """How many are executed, or wait for that."""
        here = self._here()
        queued = [record for record in here if record.stay is Stay.QUEUED]
        return RunnerStatistics(
            running=sum(record.stay is Stay.RUNNING for record in here),
            queued=sum(record.line is None for record in queued),
            in_line=sum(record.line is not None for record in queued),
        )

    def lose_all(self, why: Callable[[str], BaseException]) -> None:
        """All runs are another owner's from now on: what is executed is cancelled."""
        for record in self._here():
            if record.execution is not None:
                record.execution.interrupt()
            self.lose(record, why(record.run_id))

    def below(self, run_id: str) -> Sequence[Record]:
        """Those of the runs that the steps of a run have started, or the steps of these."""
        return [record for record in self._here() if record.run_id.startswith(below(run_id))]

    @property
    def has_parents(self) -> bool:
        """Whether anybody here waits for a run that is parked until other runs have ended."""
        return any(record.stay is Stay.PARKED and record.children for record in self._here())

    def above(self, run_id: str, waits: Iterable[tuple[str, str]]) -> Sequence[Record]:
        """Those that are parked until a run has ended, and those that wait for these.

        Args:
            run_id: The run.
            waits: Ids of runs, each with that of one that it waits for, whether they are here or not.
        """
        parents: dict[str, list[str]] = {}
        for parent, child in waits:
            parents.setdefault(child, []).append(parent)
        found, ahead = dict[str, None](), [run_id]
        while ahead:
            above = [parent for parent in parents.get(ahead.pop(), ()) if parent not in found]
            found.update(dict.fromkeys(above))
            ahead += above
        records = map(self.find, found)
        return [record for record in records if record is not None and record.stay is Stay.PARKED]

    def failure(self, run_id: str) -> BaseException | None:
        """Why a run has failed, if that was in this process, and not long ago."""
        return self._failures.get(run_id)

    def move(self, record: Record, stay: Stay) -> None:
        """Change the state of a run, and tell whoever waits for it: the only way to do so.

        Raises:
            IllegalTransition: The table does not allow it.
        """
        if stay not in TRANSITIONS[record.stay]:
            raise IllegalTransition(record.run_id, record.stay, stay)
        if stay in (Stay.QUEUED, Stay.CLAIMING):
            record.status, record.waits, record.children = RunStatus.RUNNING, (), ()
        was_there = record.stay is not Stay.STORING
        record.enter(stay)
        if not (was_there or stay is Stay.LOST or is_child(record.run_id)):
            self._stored += 1
            self._more_stored.ring()
        self._changed.ring()
        self._tell(record, was_there=was_there)
        self._close_resting(record)

    def _tell(self, record: Record, *, was_there: bool) -> None:
        """Tell whoever listens to it; nothing, if it turned out to be a run that is somewhere else."""
        if self._records.get(record.run_id) is not record:  # somebody has asked for the handle of one that is not here
            return
        if record.stay is Stay.ENDED:
            self.rooms.ended(record.run_id)
        elif record.left_with is None:
            self.rooms.ring(record.run_id)
        elif was_there:
            self.rooms.end(record.run_id, record.left_with)

    def park(self, record: Record, waits: Sequence[str], children: Collection[str] = ()) -> None:
        """A run rests until one of these waits ends; unless nothing goes on here any more."""
        if record.stay is not Stay.PARKED and not record.is_over:
            self.move(record, Stay.PARKED)
        if record.is_over:
            return
        record.status, record.waits, record.children = RunStatus.WAITING, waits, children

    def end(self, record: Record, status: RunStatus, *, state: Any = None, error: BaseException | None = None) -> None:
        """The end of a run is committed. What is said after it has ended or was lost does not count."""
        if record.is_over:
            return
        self._note(record.run_id, status, error)
        record.say(status, state, error)
        self.move(record, Stay.ENDED)

    def lose(self, record: Record, error: BaseException) -> None:
        """This process does no more for a run, which stays open. After its end that does not count."""
        if record.is_over:
            return
        record.say(RunStatus.RUNNING, None, error)
        self.move(record, Stay.LOST)

    def bury(self, info: RunInfo, error: BaseException) -> None:
        """It is committed that a run is not taken up any more."""
        record = self.find(info.run_id) or self.begin(info.run_id, info.workflow, Stay.PARKED)
        self.end(record, RunStatus.DEAD, error=error)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so that depends on the states of runs."""
        while not condition():
            await self._changed.wait()

    async def stored(self, *, beyond: int) -> int:
        """How many runs were stored that no step has started, once they are more than so many."""
        while self._stored <= beyond:
            await self._more_stored.wait()
        return self._stored

    def ring(self) -> None:
        """Something else has changed that `until` asks about."""
        self._changed.ring()

    def is_idle(self) -> bool:
        """Whether no run is being stored, claimed or executed."""
        return not any(record.stay in _BUSY for record in self._here())

    def close(self, why: Callable[[str], BaseException]) -> None:
        """Nothing goes on here any more: all runs are lost but those that are busy, which say so themselves."""
        self._why = why
        for record in self._here():
            self._close_resting(record)
        self.rooms.close(why, self._is_busy)

    def _is_busy(self, run_id: str) -> bool:
        record = self.find(run_id)
        return record is not None and record.stay in _BUSY

    def _close_resting(self, record: Record) -> None:
        if self._why is not None and record.stay in (Stay.QUEUED, Stay.PARKED):
            self.lose(record, self._why(record.run_id))

    def _here(self) -> Sequence[Record]:
        return [record for record in list(self._records.values()) if not record.is_over]

    def _note(self, run_id: str, status: RunStatus, error: BaseException | None) -> None:
        """What a run has come to."""
        self._failures.pop(run_id, None)
        if status is RunStatus.FAILED and error is not None:
            self._failures[run_id] = error
            if len(self._failures) > _FAILURES_KEPT:
                self._failures.popitem(last=False)
        elif status is RunStatus.DEAD and self._log is not None:
            self._log.error("run is dead", run_id=run_id, why=str(error))
