"""The fence: a statement takes effect only while the run is ours, open, and nobody has asked for its end.

It stands in every statement that writes for an owner. A statement that changes no row is a refusal, and `refusal` says
which; the caller's savepoint then undoes what came before it.
"""

import sqlite3
from typing import Final, NamedTuple

from .._records import Lease, RunStatus
from .._snapshots import RunInfo
from ..errors import (
    CancelRequested,
    CheckpointError,
    NewsFirst,
    OwnershipLost,
    RunNotFound,
    RunNotOpen,
    StaleCheckpoint,
)
from ._queries import SELECT_RUN
from ._rows import to_run

UNTOLD: Final = "without news"  # what a run has to be that ends
FENCE = "EXISTS (SELECT 1 FROM runs WHERE rk = ? AND epoch = ? AND cancelling <= ? AND status = 'running')"
_HELD = f"SELECT 1 WHERE {FENCE}"


class Right(NamedTuple):
    """What a commit is allowed.

    Attributes:
        lease: The lease it has.
        cancelled: Whether it may change a run whose end is asked for: 1 for the commit of that end, else 0.
    """

    lease: Lease
    cancelled: int = 0

    @property
    def fence(self) -> tuple[int, int, int]:
        """The values of `FENCE`."""
        return (self.lease.row, self.lease.epoch, self.cancelled)


def check_held(connection: sqlite3.Connection, right: Right) -> None:
    """The fence of what may rightly change no row, such as a deletion.

    Raises:
        CheckpointError: The run is no longer ours to change.
    """
    if connection.execute(_HELD, right.fence).fetchone() is None:
        raise refusal(connection, right, "", "open")


def refusal(connection: sqlite3.Connection, right: Right, path: str, expected: str) -> CheckpointError:
    """Why a fenced statement changed no row."""
    lease = right.lease
    run = run_of(connection, lease.run_id)
    if run.epoch != lease.epoch:
        return OwnershipLost(lease.run_id, lease.epoch, run.epoch)
    if run.status is not RunStatus.RUNNING:
        return RunNotOpen(lease.run_id, run.status)
    if run.cancelling and not right.cancelled:
        return CancelRequested(lease.run_id)
    return NewsFirst(lease.run_id) if expected == UNTOLD else StaleCheckpoint(lease.run_id, path, expected)


def run_of(connection: sqlite3.Connection, run_id: str) -> RunInfo:
    """What is known of a run.

    Raises:
        RunNotFound: There is none.
    """
    row = connection.execute(SELECT_RUN, (run_id,)).fetchone()
    if row is None:
        raise RunNotFound(run_id)
    return to_run(row)
