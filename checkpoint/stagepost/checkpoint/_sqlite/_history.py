"""The history of a run, as functions over a connection that is inside a transaction."""

import sqlite3

from .._codec import join_values
from .._records import Frame, Lease
from ._rows import Outside, dump_visits

_VALUES = "SELECT path, key, gen, idx, value FROM vals WHERE rk = ? AND path = ?"
_INSERT = """
INSERT INTO history (rk, number, path, seq, next, visits, width, state, saved_at)
SELECT ?, (SELECT coalesce(max(number), 0) + 1 FROM history WHERE rk = ?), ?, ?, ?, ?, ?, ?, ?
"""


def keep_version(connection: sqlite3.Connection, lease: Lease, frame: Frame, now: int) -> None:
    """Add a frame that has just been written to the history, with the values that live outside of it."""
    state = dict(frame.state)
    if frame.refs:
        outside = Outside(connection.execute(_VALUES, (lease.row, frame.path)))
        state |= {key: outside.get(frame.path, key, ref) for key, ref in frame.refs.items()}
    content = (frame.path, frame.seq, frame.next, dump_visits(frame.visits), frame.width, join_values(state), now)
    connection.execute(_INSERT, (lease.row, lease.row, *content))
