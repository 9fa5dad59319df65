"""Where each run is: one record for each, one table of transitions, one place to ask.

A record begins where a run comes to this process, and its state changes only by `Presence.move`:

==========  ==========================================================================================================
storing     It is being stored. Somebody else may find its id meanwhile, and waits until this is over.
queued      It waits for a slot. It is nobody's in the store, or ours.
claiming    It has a slot, or needs none; it is being read, checked and claimed.
running     A task of the executor takes it to its end. Only here anything of it is executed.
parked      It rests in the store, and somebody here waits for it. Without anybody there is no record of it.
ended       Its end is committed.
lost        It stays open without this process: it cannot go on, is another owner's, or store or runner are left.
==========  ==========================================================================================================

The rules of the table:

- A run is executed only after it was stored or claimed in this very stay: to ``running`` leads no other way, and no
  record begins there, or at an end.
- Nothing leads out of ``ended`` and ``lost``. A run that is resumed, or tried again, gets a new record; whoever holds a
  handle of the old one keeps what it was told.
- ``running`` is left only by the task that executes the run, except that its end may be committed over its head, by a
  cancellation that it does not heed.
- What is ``queued`` or ``parked`` may end or be lost without being claimed; only what is ``queued`` is claimed for a
  slot. A parked run that goes on is queued first.
- A run that somebody resumes is claimed at once, since it is open from then on; without a slot it is queued then, and
  claimed again in its turn.
- ``storing`` may turn out to be a run that was there already: its record is lost, and the other one is looked for.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary, ref

from stagepost.checkpoint import RunInfo, RunStatus

from .._bell import Bell
from .._engine._intermediates import Intermediate
from .._execution._execution import Execution
from .._ids import below
from .._runs._migration import Definition

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_FAILURES_KEPT: Final = 100


class Stay(StrEnum):
    """Where a run is, as far as this process has to do with it."""

    STORING = "storing"
    QUEUED = "queued"
    CLAIMING = "claiming"
    RUNNING = "running"
    PARKED = "parked"
    ENDED = "ended"
    LOST = "lost"


TRANSITIONS: Final[Mapping[Stay, frozenset[Stay]]] = {
    Stay.STORING: frozenset({Stay.RUNNING, Stay.QUEUED, Stay.LOST}),
    Stay.QUEUED: frozenset({Stay.CLAIMING, Stay.ENDED, Stay.LOST}),
    Stay.CLAIMING: frozenset({Stay.RUNNING, Stay.QUEUED, Stay.PARKED, Stay.ENDED, Stay.LOST}),
    Stay.RUNNING: frozenset({Stay.PARKED, Stay.ENDED, Stay.LOST}),
    Stay.PARKED: frozenset({Stay.QUEUED, Stay.ENDED, Stay.LOST}),
    Stay.ENDED: frozenset(),
    Stay.LOST: frozenset(),
}
BEGINNINGS: Final = frozenset({Stay.STORING, Stay.QUEUED, Stay.CLAIMING, Stay.PARKED})


class IllegalTransition(RuntimeError):
    """The runner has a defect."""

    def __init__(self, run_id: str, before: Stay | None, after: Stay) -> None:
        begins = "begins" if before is None else f"is {before.value} and becomes"
        super().__init__(f"run {run_id!r} {begins} {after.value}: no rule of the runner allows that")


class Record:
    """One run in this process; what its handles wait for. It lives as long as a handle, the queue or a task holds it.

    Attributes:
        run_id: The run.
        workflow: Name of its workflow.
        stay: Where it is.
        status: Where it stands, as its handles show it.
        waits: Ids of the waits that it is parked at.
        children: Ids of the runs that it waits for while it is parked.
        definition: What it is executed by, once that is known.
        reopened: Whether it had ended, and somebody has resumed it.
        urgent: Whether it takes no slot.
        cancelled: Whether its cancellation was requested while it was claimed or executed.
        awaited: Whether other runs may wait for its end: not so only of runs that this process has begun, and that
            have not parked without a record since.
        told: How much news of it the store has told of; `is_hearing` while a task reads that.
        freed: Whether the store has said that it goes on, while a task was still claiming or executing it.
        must_go_on: Whether it is taken up though it rests.
        refused: Why it was not executed when its turn had come.
        execution: It, while it is executed.
        intermediates: Where the states after its steps go, if somebody wants them.
        handle: Its handle, if somebody holds one.
    """

    __slots__ = (
        "__weakref__",
        "_changed",
        "_error",
        "_state",
        "awaited",
        "cancelled",
        "children",
        "definition",
        "execution",
        "freed",
        "handle",
        "intermediates",
        "is_hearing",
        "must_go_on",
        "refused",
        "reopened",
        "run_id",
        "status",
        "stay",
        "told",
        "urgent",
        "waits",
        "workflow",
    )

    def __init__(self, run_id: str, workflow: str, stay: Stay) -> None:
        self.run_id = run_id
        self.workflow = workflow
        self.stay = stay
        self.status = RunStatus.RUNNING
        self.waits: Sequence[str] = ()
        self.children: Collection[str] = ()
        self.definition: Definition | None = None
        self.reopened = self.urgent = self.cancelled = False
        self.is_hearing = self.freed = self.must_go_on = False
        self.awaited = True
        self.told = 0
        self.refused: Exception | None = None
        self.execution: Execution | None = None
        self.intermediates: list[Intermediate] | None = None
        self.handle: ref[Any] | None = None
        self._state: Any = None
        self._error: BaseException | None = None
        self._changed = Bell()

    @property
    def is_over(self) -> bool:
        """Whether it has ended or is lost."""
        return not TRANSITIONS[self.stay]

    @property
    def left_with(self) -> BaseException | None:
        """Why this process does no more for it, if that is so."""
        return self._error if self.stay is Stay.LOST else None

    async def changed(self) -> None:
        """Wait until its state changes."""
        await self._changed.wait()

    async def settled(self) -> RunStatus:
        """Where it stands once it has ended or is parked; or the error, if this process has left it open."""
        while self.stay is not Stay.PARKED and not self.is_over:
            await self._changed.wait()
        if self.left_with is not None:
            raise self.left_with.with_traceback(None)
        return self.status

    async def result(self) -> Any:
        """The final state, or the error."""
        while not self.is_over:
            await self._changed.wait()
        if self._error is not None:
            raise self._error.with_traceback(None)
        return self._state

    def say(self, status: RunStatus, state: Any, error: BaseException | None) -> None:
        """What it has come to, before it is ended or lost."""
        self.status, self.waits, self._state, self._error = status, (), state, error

    def enter(self, stay: Stay) -> None:
        """Be in another state, as `Presence.move` allows."""
        self.stay = stay
        self._changed.ring()


class Presence:
    """All records.

    The last failures are kept for handles that are made later, since the store has only their text.

    Args:
        log: Where dead runs are logged.
    """

    def __init__(self, log: "BoundLogger | None" = None) -> None:
        self._log = log
        self._records: WeakValueDictionary[str, Record] = WeakValueDictionary()
        self._failures: OrderedDict[str, BaseException] = OrderedDict()
        self._why: Callable[[str], BaseException] | None = None
        self._changed = Bell()

    def begin(self, run_id: str, workflow: str, stay: Stay) -> Record:
        """A record of a run that comes to this process.

        Raises:
            IllegalTransition: It cannot come to this state at once, or is here already.
        """
        known = self.find(run_id)
        if stay not in BEGINNINGS or known is not None:
            raise IllegalTransition(run_id, None if known is None else known.stay, stay)
        record = self._records[run_id] = Record(run_id, workflow, stay)
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
        record.enter(stay)
        self._changed.ring()
        self._close_resting(record)

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


_BUSY: Final = frozenset({Stay.STORING, Stay.CLAIMING, Stay.RUNNING})
