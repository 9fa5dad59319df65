"""What is deleted, as functions over a connection that is inside a transaction.

A run that is deleted takes its rows of all tables with it (``ON DELETE CASCADE``).
"""

import sqlite3

from ..errors import RunNotEnded
from ._fence import run_of

_ENDED = "status NOT IN ('running', 'waiting')"
_DELETE = f"DELETE FROM runs WHERE run_id = ? AND {_ENDED}"
_PRUNE = f"""
DELETE FROM runs WHERE rk IN (SELECT rk FROM runs WHERE finished_at < ? AND {_ENDED} ORDER BY finished_at LIMIT ?)
"""


def delete(connection: sqlite3.Connection, run_id: str) -> None:
    """Delete a run that has ended."""
    if connection.execute(_DELETE, (run_id,)).rowcount != 1:
        raise RunNotEnded(run_id, run_of(connection, run_id).status)


def prune(connection: sqlite3.Connection, before: int, limit: int) -> int:
    """Delete runs that ended before a time, the oldest first; returns how many."""
    return connection.execute(_PRUNE, (before, limit)).rowcount
