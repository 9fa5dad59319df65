"""What a store does to a run that is there, each as one function over a connection that is inside a transaction."""

import sqlite3

from .._records import Commit, Keep, RunStatus
from ._applications import Application, Checked
from ._changes import changes_of
from ._giving_up import give_up
from ._retention import forget


def commit_with_more(connection: sqlite3.Connection, change: Commit, now: int, checked: Checked) -> None:
    """Save one change of a run with what it does beside its rows, all or nothing."""
    changes_of(change, now)(connection)
    if change.joined is not None and change.joined.lost:
        give_up(connection, change.lease, change.joined)
    if change.also:
        Application(change.also, checked)(connection)
    if is_forgotten(change):
        forget(connection, change.lease.run_id)


def is_forgotten(change: Commit) -> bool:
    """Whether a commit is the last that is known of its run."""
    ends_well = change.closing is not None and change.closing.status in (RunStatus.COMPLETED, RunStatus.CANCELLED)
    return change.lease.keep is Keep.NONE and ends_well
