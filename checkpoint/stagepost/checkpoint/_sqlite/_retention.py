"""What is deleted, as functions over a connection that is inside a transaction.

A run that is deleted takes its rows of all tables with it (``ON DELETE CASCADE``), and the runs below it that have
ended: those whose ids begin with its own and a dot, which its steps have started. Nor are these pruned before it, since
a step that runs again asks for them. Its key and id stay, if they are to be remembered, unless somebody deletes it.
"""

import sqlite3

from ..errors import RunNotEnded
from ._error_words import index_errors
from ._fence import run_of
from ._keys import free, remember
from ._queries import SELECT_RUN

_ENDED = "status NOT IN ('running', 'waiting')"
_DELETE = f"DELETE FROM runs WHERE run_id = ? AND {_ENDED}"
_DELETE_BELOW = f"DELETE FROM runs WHERE run_id > ? AND run_id < ? AND {_ENDED}"
_OLD = f"""
SELECT rk FROM runs WHERE finished_at < ? AND {_ENDED} AND NOT EXISTS (
  SELECT 1 FROM runs AS root WHERE instr(runs.run_id, '.') > 0
  AND root.run_id = substr(runs.run_id, 1, instr(runs.run_id, '.') - 1)
  AND (root.finished_at IS NULL OR root.finished_at >= ?)
) ORDER BY finished_at LIMIT ?
"""
_PRUNE = f"DELETE FROM runs WHERE rk IN ({_OLD})"


def delete(connection: sqlite3.Connection, run_id: str) -> None:
    """Delete a run that has ended, or what is remembered of one that was forgotten."""
    if connection.execute(_DELETE, (run_id,)).rowcount != 1:
        if free(connection, run_id) and connection.execute(SELECT_RUN, (run_id,)).fetchone() is None:
            return
        raise RunNotEnded(run_id, run_of(connection, run_id).status)
    _delete_below(connection, run_id)


def forget(connection: sqlite3.Connection, run_id: str) -> None:
    """Delete a run that ends now."""
    remember(connection, "run_id = ?", (run_id,))
    connection.execute(_DELETE, (run_id,))
    _delete_below(connection, run_id)


def prune(connection: sqlite3.Connection, before: int, limit: int) -> int:
    """Delete runs that ended before a time, the oldest first; returns how many."""
    remember(connection, f"rk IN ({_OLD})", (before, before, limit))
    pruned = connection.execute(_PRUNE, (before, before, limit)).rowcount
    index_errors(connection)
    return pruned


def _delete_below(connection: sqlite3.Connection, run_id: str) -> None:
    connection.execute(_DELETE_BELOW, (f"{run_id}.", f"{run_id}/"))  # the character behind the dot
    index_errors(connection)
