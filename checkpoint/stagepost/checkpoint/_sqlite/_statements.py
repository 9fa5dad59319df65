"""What a store does to a run that is there, each as one function over a connection that is inside a transaction."""

import sqlite3

from .._records import Commit, Keep, RunStatus
from ._changes import changes_of
from ._history import keep_version
from ._retention import forget


def commit(connection: sqlite3.Connection, change: Commit, now: int) -> None:
    """Save one change of a run, all or nothing."""
    changes_of(change, lambda: now)(connection)
    if change.frame is not None and change.lease.keep is Keep.ALL:
        keep_version(connection, change.lease, change.frame, now)
    if _is_forgotten(change):
        forget(connection, change.lease.run_id)


def has_more(change: Commit) -> bool:
    """Whether a commit does more than to change the rows that it names."""
    return change.lease.keep is Keep.ALL or _is_forgotten(change)


def _is_forgotten(change: Commit) -> bool:
    """Whether a commit is the last that is known of its run."""
    ends_well = change.closing is not None and change.closing.status in (RunStatus.COMPLETED, RunStatus.CANCELLED)
    return change.lease.keep is Keep.NONE and ends_well
