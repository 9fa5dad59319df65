"""Items of a fan-out that are given up: the runs that steps below them have started end with them.

It is done by the commit that joins the fan-out, so a crash finds either a run that has not decided yet, or one whose
children have been told. Everything else is as for any cancellation; see `_words`.
"""

import sqlite3

from .._records import Joined, Lease

_BEGUN = """
SELECT child.run_id, child.starter FROM runs AS child, runs AS parent
WHERE parent.rk = ? AND child.run_id > parent.run_id || '.' AND child.run_id < parent.run_id || '/' -- after the dot
AND instr(substr(child.run_id, length(parent.run_id) + 2), '.') = 0
AND child.starter > ? AND child.starter < ? AND child.status IN ('running', 'waiting')
"""
_CANCEL = """
UPDATE runs SET cancelling = 1, status = 'running', news = news + 1 - cancelling
WHERE (run_id = ?1 OR (run_id > ?1 || '.' AND run_id < ?1 || '/')) AND status IN ('running', 'waiting')
"""


def give_up(connection: sqlite3.Connection, lease: Lease, joined: Joined) -> None:
    """Request the end of the runs that steps of lost items have started, and of all below them."""
    lost, before = set(joined.lost), f"{joined.path}["
    for run_id, place in connection.execute(_BEGUN, (lease.row, before, f"{joined.path}\\")).fetchall():
        if int(place.removeprefix(before).partition("]")[0]) in lost:
            connection.execute(_CANCEL, (run_id,))
