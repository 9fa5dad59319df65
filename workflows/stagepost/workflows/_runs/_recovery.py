"""Taking up runs that a process before this one has left open."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from operator import attrgetter

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import CorruptRun, Snapshot, WaitStatus

from ..errors import WorkflowError
from ._ids import wait_id_of
from ._run import Run


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What `Runner.recover` found.

    Attributes:
        resumed: Runs that go on now.
        left_open: Runs that do not, by id, with the reason.
        cancelled: Ids of runs whose end had been asked for and is committed now.
        dead: Runs that were recovered too often without getting anywhere, by id, with the reason.
    """

    resumed: Sequence[Run] = ()
    left_open: Mapping[str, WorkflowError | CorruptRun] = field(default_factory=dict)
    cancelled: Sequence[str] = ()
    dead: Mapping[str, WorkflowError] = field(default_factory=dict)


@dataclass(slots=True)
class RecoveryNotes:
    """What becomes a `RecoveryReport`; see there."""

    resumed: list[Run] = field(default_factory=list)
    left_open: dict[str, WorkflowError | CorruptRun] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    dead: dict[str, WorkflowError] = field(default_factory=dict)

    def report(self) -> RecoveryReport:
        """It, when all has been found."""
        return RecoveryReport(tuple(self.resumed), self.left_open, tuple(self.cancelled), self.dead)


def open_waits(snapshot: Snapshot) -> Sequence[str]:
    """Ids of the waits that a run is parked at."""
    waits = sorted((wait for wait in snapshot.waits if wait.status is WaitStatus.OPEN), key=attrgetter("place"))
    return tuple(wait_id_of(snapshot.run.run_id, wait) for wait in waits)
