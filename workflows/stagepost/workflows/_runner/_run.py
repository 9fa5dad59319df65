"""A run as its starter sees it."""

from collections.abc import Iterable, Sequence
from typing import Any
from weakref import ref

from stagepost.checkpoint import RunInfo, RunStatus, Snapshot, StoredWait, WaitKind, WaitStatus

from .._ids import open_waits
from .._runs._registry import Registry
from .._streams._stream import RunStream
from ..errors import RunCancelled, RunDead, RunFailed, RunNotHeld
from ._presence import Presence
from ._record import Record
from ._stay import Stay


class Run:
    """Handle of a background run.

    Attributes:
        id: Its id.
        workflow: Name of its workflow.
    """

    def __init__(self, run_id: str, workflow: str, record: Record) -> None:
        self.id = run_id
        self.workflow = workflow
        self._record = record

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self.workflow}: {self.status}>"

    @property
    def status(self) -> RunStatus:
        """Where it stands, as far as this process knows."""
        return self._record.status

    @property
    def waits(self) -> Sequence[str]:
        """Ids of the waits that it is parked at; empty if it is not."""
        return tuple(self._record.waits)

    @property
    def left_with(self) -> BaseException | None:
        """Why this runner does no more for it though it has not ended, as `result` would raise it; None otherwise."""
        return self._record.left_with

    async def settled(self) -> RunStatus:
        """Wait until it has ended, or waits for somebody and nothing of it goes on.

        Returns:
            Where it stands then.

        Raises:
            RunnerStopped: The runner was left before.
            CheckpointError: A commit failed, or the store takes nothing more; the run stays open in the store.
        """
        return await self._record.settled()

    async def result(self) -> Any:
        """Wait for the end; any number of tasks may, and giving up waiting does not touch the run.

        Returns:
            The final state.

        Raises:
            RunFailed: It has failed; the cause is the error itself, where it happened in this process.
            RunCancelled: Somebody has cancelled it.
            RunDead: Its process died with it too often.
            RunnerStopped: The runner was left before it ended.
            RunNotHeld: It is open, but this runner does not work on it.
            CheckpointError: A commit failed, or the store takes nothing more; the run stays open in the store.
        """
        return await self._record.result()

    def stream(self, *, after: str | None = None, buffer: int = 1000) -> RunStream:
        """What becomes of it, part by part; see `RunStream`.

        Args:
            after: `RunPart.cursor` of the last part that the reader knows; None to begin with the state as it is.
            buffer: How many parts that are stored nowhere are kept for a reader who is slow.

        Raises:
            CursorRefused: `after` is no cursor; one of another run is refused when the first part is read.
        """
        return self._record.rooms.stream(self.id, after, size=buffer, outcome=self._record.result)


def handle_of(record: Record) -> Run:
    """The handle of a run in this process: the same one for as long as somebody holds it."""
    run = None if record.handle is None else record.handle()
    if run is None:
        run = Run(record.run_id, record.workflow, record)
        record.handle = ref(run)
    return run


async def halted(run: Run) -> RunStatus:
    """As `Run.settled`; or that it waits, as soon as it stands in line for a limit."""
    return await run._record.halted()  # noqa: SLF001  # what a step waits for, and no caller


def stored_handle(
    snapshot: Snapshot, registry: Registry, presence: Presence, reason: BaseException | None = None
) -> Run:
    """A handle of a run that nobody here works on.

    Args:
        snapshot: The run as it is stored.
        registry: Finds its definition.
        presence: Gets its record: who has a handle of a parked run hears of whatever becomes of it.
        reason: Why it cannot go on, if it is open and cannot.

    Raises:
        UnknownWorkflow: It has completed, and nobody knows its workflow.
        IncompatibleCheckpoint: It has completed, and its state cannot be read any more.
    """
    run = snapshot.run
    if reason is None and run.status is RunStatus.RUNNING:
        reason = RunNotHeld(run.run_id)
    if reason is None and run.status is RunStatus.WAITING:
        record = presence.begin(run.run_id, run.workflow, Stay.PARKED)
        presence.park(record, open_waits(snapshot), children_of(snapshot.waits))
        return handle_of(record)
    record = Record(run.run_id, run.workflow, Stay.PARKED, presence.rooms)  # in no table: nothing more will come of it
    if reason is not None:
        presence.lose(record, reason)
    else:
        end_as_stored(record, snapshot, registry, presence)
    return handle_of(record)


def end_as_stored(record: Record, snapshot: Snapshot, registry: Registry, presence: Presence) -> None:
    """A run has ended elsewhere, or over the head of this process.

    Raises:
        WorkflowError: Its final state cannot be read.
    """
    state = _state_of(snapshot, registry)
    presence.end(record, snapshot.run.status, state=state, error=_error_of(snapshot.run, presence))


def children_of(waits: Iterable[StoredWait]) -> frozenset[str]:
    """Ids of the runs that a run waits for."""
    return frozenset(wait.name for wait in waits if wait.kind is WaitKind.CHILD and wait.status is WaitStatus.OPEN)


def _state_of(snapshot: Snapshot, registry: Registry) -> Any:
    return registry.find(snapshot.run).view(snapshot) if snapshot.run.status is RunStatus.COMPLETED else None


def _error_of(run: RunInfo, presence: Presence) -> BaseException | None:
    """What a run has come to that has not completed."""
    match run.status:
        case RunStatus.FAILED:
            return presence.failure(run.run_id) or _failed(run)
        case RunStatus.CANCELLED:
            return RunCancelled(run.run_id)
        case RunStatus.DEAD:
            return RunDead(run.run_id, run.attempts)
    return None


def _failed(run: RunInfo) -> RunFailed:
    """A failure of another process, which shows the traceback that is stored of it."""
    failure = RunFailed(run.run_id, run.error or "unknown error", run.traceback)
    if run.traceback is not None:
        failure.add_note(f"It failed in another process, or some time ago, where the traceback was:\n{run.traceback}")
    return failure
