"""What is deleted, as functions over a connection that is inside a transaction.

With a run go the runs below it that have ended: those whose ids begin with its own and a dot, which its steps have
started. Nor are these pruned before it, since a step that runs again asks for them. Its key and id stay, if they are to
be remembered, unless somebody deletes it.

Commits wait while this goes on, so runs are pruned one by one until a few milliseconds have passed, and the rest is
left to the next transaction. For the same reason a run does not take its rows of other tables with it at once: foreign
keys are not enforced (`Uncascaded`), the rows are left, and swept in slices, in the same transaction as far as there is
time. Of a run that somebody deletes by hand in SQLite's shell they are deleted by ``ON DELETE CASCADE``.
"""

import sqlite3
from collections.abc import Iterator
from time import perf_counter
from typing import Final, NamedTuple

from ..errors import RunNotEnded
from ._error_words import index_errors
from ._fence import run_of
from ._keys import free, remember
from ._leavings import leave_run, sweep
from ._queries import SELECT_RUN

_ENDED = "status NOT IN ('running', 'waiting')"
_DELETE = f"DELETE FROM runs WHERE run_id = ? AND {_ENDED} RETURNING rk"
_DELETE_BELOW = f"DELETE FROM runs WHERE run_id > ? AND run_id < ? AND {_ENDED} RETURNING rk"
_OLD = f"""
SELECT rk FROM runs WHERE finished_at < ? AND {_ENDED} AND NOT EXISTS (
  SELECT 1 FROM runs AS root WHERE instr(runs.run_id, '.') > 0
  AND root.run_id = substr(runs.run_id, 1, instr(runs.run_id, '.') - 1)
  AND (root.finished_at IS NULL OR root.finished_at >= ?)
) ORDER BY finished_at LIMIT ?
"""
_PRUNE = "DELETE FROM runs WHERE rk = ?"
_SLICE: Final = 0.005  # seconds after which a transaction deletes no more
_AT_ONCE: Final = 50  # runs that are looked for at once


class Pruned(NamedTuple):
    """What one transaction has deleted.

    Attributes:
        runs: How many runs.
        is_all: Whether there was no more to delete.
    """

    runs: int
    is_all: bool


def delete(connection: sqlite3.Connection, run_id: str) -> None:
    """Delete a run that has ended, or what is remembered of one that was forgotten."""
    until = perf_counter() + _SLICE
    if not _is_deleted(connection, run_id):
        if free(connection, run_id) and connection.execute(SELECT_RUN, (run_id,)).fetchone() is None:
            return
        raise RunNotEnded(run_id, run_of(connection, run_id).status)
    _sweep_until(connection, until)


def forget(connection: sqlite3.Connection, run_id: str) -> None:
    """Delete a run that ends now."""
    until = perf_counter() + _SLICE
    remember(connection, "run_id = ?", (run_id,))
    _is_deleted(connection, run_id)
    _sweep_until(connection, until)


def prune(connection: sqlite3.Connection, before: int, limit: int) -> Pruned:
    """Delete runs that ended before a time, the oldest first, for a few milliseconds; one at least."""
    until = perf_counter() + _SLICE
    wanted = min(limit, _AT_ONCE)
    found = connection.execute(_OLD, (before, before, wanted)).fetchall()
    done = 0
    for (row,) in _while_time(found, until):
        remember(connection, "rk = ?", (row,))
        connection.execute(_PRUNE, (row,))
        leave_run(connection, row)
        done += 1
    index_errors(connection)
    return Pruned(done, len(found) < wanted and done == len(found))


def go_on(connection: sqlite3.Connection) -> bool:
    """Delete what is left of runs and lists that are gone, for a few milliseconds; returns whether there is more."""
    return sweep(connection, perf_counter() + _SLICE)


def _sweep_until(connection: sqlite3.Connection, until: float) -> None:
    if perf_counter() < until:
        sweep(connection, until)


def _while_time(rows: list[tuple[int]], until: float) -> Iterator[tuple[int]]:
    """The first of some rows, and those after it until a time."""
    for place, row in enumerate(rows):
        if place and perf_counter() > until:
            return
        yield row


def _is_deleted(connection: sqlite3.Connection, run_id: str) -> bool:
    """Delete a run that has ended with those below it, but for their rows in other tables; False if there is none."""
    rows = connection.execute(_DELETE, (run_id,)).fetchall()
    if not rows:
        return False
    rows += connection.execute(_DELETE_BELOW, (f"{run_id}.", f"{run_id}/")).fetchall()  # the character after the dot
    for (row,) in rows:
        leave_run(connection, row)
    index_errors(connection)
    return True
