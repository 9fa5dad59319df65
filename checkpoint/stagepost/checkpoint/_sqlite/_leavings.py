"""What runs and lists have left that are gone: rows that nobody refers to, which are deleted in slices.

Commits wait while a transaction deletes, so one goes on for a few milliseconds only, and the rest is left to the next
one. Until then the table `leavings` names what is left, so that whoever opens the file after a kill goes on with it: of
a list the run that has made it and its number, of a run its key and -1. No query finds such rows: each of them begins
with the row of a run, or joins it.
"""

import sqlite3
from time import perf_counter
from typing import Final

RUN: Final = -1  # in the place of the number of a list: all rows of a run
_NOTE: Final = "INSERT OR IGNORE INTO leavings (maker, number) VALUES (?, ?)"
_LEFT: Final = "SELECT maker, number FROM leavings LIMIT 1"
_SWEPT: Final = "DELETE FROM leavings WHERE maker = ? AND number = ?"
_ELEMENTS: Final = """
DELETE FROM elements WHERE maker = ? AND number = ? AND idx IN (
  SELECT idx FROM elements WHERE maker = ? AND number = ? ORDER BY idx LIMIT ?
)
"""
_AT_ONCE: Final = 50  # elements or rows that one statement deletes
_FEW: Final = 2  # of those that may have megabytes each
_ROWS: Final = {  # what belongs to a run, by its key in the table, and how much of it one statement deletes
    "labels": ("rk, name", _AT_ONCE),
    "waits": ("rowid", _AT_ONCE),
    "signals": ("rowid", _AT_ONCE),
    "effects": ("rowid", _AT_ONCE),
    "attempts": ("rk, place", _AT_ONCE),
    "migrated": ("rk, number", _AT_ONCE),
    "frames": ("rowid", _AT_ONCE),
    "items": ("rowid", _AT_ONCE),
    "past_items": ("rowid", _AT_ONCE),
    "history": ("rowid", _AT_ONCE),
    "list_refs": ("rk, path, maker, number", _AT_ONCE),
    "vals": ("rk, path, number", _FEW),
    "blob_refs": ("rk, digest", _FEW),
}
_SWEEPS: Final = tuple(
    (
        f"SELECT {key} FROM {table} WHERE rk = ? LIMIT {most}",
        f"DELETE FROM {table} WHERE {' AND '.join(f'{column} = ?' for column in key.split(', '))}",
        most,
    )
    for table, (key, most) in _ROWS.items()
)


def leave_run(connection: sqlite3.Connection, row: int) -> None:
    """Note that a run is gone and its rows are left.

    Args:
        connection: The connection, in a transaction.
        row: The store's own key of the run.
    """
    connection.execute(_NOTE, (row, RUN))


def sweep(connection: sqlite3.Connection, until: float = 0.0) -> bool:
    """Delete what is left until a time of `perf_counter`, something at least; returns whether there is more."""
    while (place := connection.execute(_LEFT).fetchone()) is not None:
        maker, number = place
        if not (_is_run_swept(connection, maker, until) if number == RUN else _is_list_swept(connection, place)):
            if perf_counter() > until:
                return True
            continue
        connection.execute(_SWEPT, place)
    return False


def _is_run_swept(connection: sqlite3.Connection, row: int, until: float) -> bool:
    """Delete rows of a run; False if the time is over."""
    for select, delete, most in _SWEEPS:
        while found := connection.execute(select, (row,)).fetchall():  # first: of many, each is found by its whole key
            connection.executemany(delete, found)
            if len(found) == most and perf_counter() > until:
                return False
    return True


def _is_list_swept(connection: sqlite3.Connection, place: tuple[int, int]) -> bool:
    """Delete some elements of a list; False if there may be more."""
    return connection.execute(_ELEMENTS, (*place, *place, _AT_ONCE)).rowcount < _AT_ONCE
