"""What is deleted, as functions over a connection that is inside a transaction.

A run that is deleted takes its rows of all tables with it (``ON DELETE CASCADE``), and the runs below it that have
ended: those whose ids begin with its own and a dot, which its steps have started. Nor are these pruned before it, since
a step that runs again asks for them. Its key and id stay, if they are to be remembered, unless somebody deletes it.

Commits wait while this goes on, so runs are pruned one by one until a few milliseconds have passed, and the rest is
left to the next transaction. Of a long list that is gone the elements stay at first: nothing refers to them, `leavings`
names them, and they are swept in slices.
"""

import sqlite3
from collections.abc import Iterator
from time import perf_counter
from typing import Final, NamedTuple

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
_PRUNE = "DELETE FROM runs WHERE rk = ?"
_LEFT: Final = "SELECT maker, number FROM leavings LIMIT 1"
_SWEEP: Final = """
DELETE FROM elements WHERE maker = ? AND number = ? AND idx IN (
  SELECT idx FROM elements WHERE maker = ? AND number = ? ORDER BY idx LIMIT ?
)
"""
_SWEPT: Final = "DELETE FROM leavings WHERE maker = ? AND number = ?"
_SLICE: Final = 0.005  # seconds after which a transaction deletes no more
_AT_ONCE: Final = 50  # elements that one statement deletes, and runs that are looked for at once


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


def prune(connection: sqlite3.Connection, before: int, limit: int) -> Pruned:
    """Delete runs that ended before a time, the oldest first, for a few milliseconds; one at least."""
    until = perf_counter() + _SLICE
    wanted = min(limit, _AT_ONCE)
    found = connection.execute(_OLD, (before, before, wanted)).fetchall()
    done = 0
    for (row,) in _while_time(found, until):
        remember(connection, "rk = ?", (row,))
        connection.execute(_PRUNE, (row,))
        done += 1
    index_errors(connection)
    return Pruned(done, len(found) < wanted and done == len(found))


def sweep(connection: sqlite3.Connection) -> bool:
    """Delete elements of lists that are gone, for a few milliseconds; returns whether there are more."""
    until = perf_counter() + _SLICE
    while (place := connection.execute(_LEFT).fetchone()) is not None:
        if connection.execute(_SWEEP, (*place, *place, _AT_ONCE)).rowcount < _AT_ONCE:
            connection.execute(_SWEPT, place)
        elif perf_counter() > until:
            return True
    return False


def _while_time(rows: list[tuple[int]], until: float) -> Iterator[tuple[int]]:
    """The first of some rows, and those after it until a time."""
    for place, row in enumerate(rows):
        if place and perf_counter() > until:
            return
        yield row


def _delete_below(connection: sqlite3.Connection, run_id: str) -> None:
    connection.execute(_DELETE_BELOW, (f"{run_id}.", f"{run_id}/"))  # the character behind the dot
    index_errors(connection)
