"""What a store does to a run that is there, each as one function over a connection that is inside a transaction."""

import sqlite3

from .._records import Commit, Keep, Lease, RunStatus, Shape
from ..errors import RunNotOpen
from ._applications import Application, Checked
from ._changes import changes_of
from ._fence import run_of
from ._retention import forget
from ._row import shape_row
from ._rows import making_sense

_CLAIM = """
UPDATE runs SET epoch = epoch + 1, owner = ?, status = 'running', attempts = attempts + ?, shape = coalesce(?, shape)
WHERE run_id = ? AND status IN ('running', 'waiting') RETURNING rk, epoch, keep
"""
_REOPEN = """
UPDATE runs SET status = 'running', error = NULL, finished_at = NULL, attempts = 0
WHERE run_id = ? AND status IN ('failed', 'dead') RETURNING rk
"""
_RETRY_ITEMS = "UPDATE items SET status = 'waiting', error = NULL WHERE rk = ? AND status IN ('failed', 'cancelled')"
_WAIT_AGAIN = "DELETE FROM waits WHERE rk = ? AND status = 'expired'"
_CANCEL = "UPDATE runs SET cancelling = 1, status = 'running' WHERE run_id = ? AND status IN ('running', 'waiting')"


def cancel(connection: sqlite3.Connection, run_id: str) -> None:
    """Ask for the end of an open run: from now on it takes no other commit."""
    if connection.execute(_CANCEL, (run_id,)).rowcount != 1:
        raise RunNotOpen(run_id, run_of(connection, run_id).status)


def claim(
    connection: sqlite3.Connection, run_id: str, owner: str, *, reopen: bool, recovering: bool, shape: Shape | None
) -> Lease:
    """Raise the epoch of an open run; with `reopen` open a failed one first, with `recovering` count the attempt."""
    if reopen:
        for (row,) in connection.execute(_REOPEN, (run_id,)).fetchall():
            connection.execute(_RETRY_ITEMS, (row,))
            connection.execute(_WAIT_AGAIN, (row,))
    claimed = connection.execute(_CLAIM, (owner, int(recovering), shape and shape.id, run_id)).fetchone()
    if claimed is None:
        raise RunNotOpen(run_id, run_of(connection, run_id).status)
    with making_sense(run_id):
        lease = Lease(run_id, row=claimed[0], epoch=claimed[1], keep=Keep(claimed[2]))
    if shape is not None:
        run = run_of(connection, run_id)
        shape_row(lease, shape, run.workflow, run.version)(connection)
    return lease


def commit_with_more(connection: sqlite3.Connection, change: Commit, now: int, checked: Checked) -> None:
    """Save one change of a run with what it does beside its rows, all or nothing."""
    changes_of(change, now)(connection)
    if change.also:
        Application(change.also, checked)(connection)
    if is_forgotten(change):
        forget(connection, change.lease.run_id)


def is_forgotten(change: Commit) -> bool:
    """Whether a commit is the last that is known of its run."""
    ends_well = change.closing is not None and change.closing.status in (RunStatus.COMPLETED, RunStatus.CANCELLED)
    return change.lease.keep is Keep.NONE and ends_well
