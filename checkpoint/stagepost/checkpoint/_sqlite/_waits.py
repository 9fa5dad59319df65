"""What the owner of a run does about its waits, each as one function over a connection in a transaction."""

import sqlite3

from .._records import Keep, Lease
from .._waiting import NewWait, StoredWait, WaitKind
from ..errors import StaleCheckpoint
from ._fence import FENCE, Right, check_held, refusal
from ._happened import happened_rows, note_resting
from ._queries import WAIT_COLUMNS
from ._rows import to_micros, to_wait

_OPEN = f"""
INSERT INTO waits (rk, place, id, kind, name, prompt, due_at, status, opened_at)
SELECT ?, ?, ?, ?, ?, ?, ?, 'open', ?
WHERE {FENCE}
ON CONFLICT (rk, place) DO UPDATE SET
  kind = excluded.kind, name = excluded.name, prompt = excluded.prompt, due_at = excluded.due_at, status = 'open',
  value = NULL, by = NULL, opened_at = excluded.opened_at, ended_at = NULL, news = NULL, checked = 1, refused = NULL
"""
_SELECT = f"SELECT {WAIT_COLUMNS} FROM waits WHERE rk = ? AND place = ?"
_PARK = f"""
UPDATE runs SET status = 'waiting', attempts = 0, owner = NULL, heard = news WHERE rk = ? AND {FENCE} AND news <= ?
"""
_SETTLES = "UPDATE runs SET attempts = 0 WHERE rk = ? AND attempts > 0"
_QUEUED = "SELECT id, value, checked FROM signals WHERE rk = ? AND name = ? AND taken = 0 ORDER BY id LIMIT 1"
_DELIVER = """
UPDATE waits SET status = 'answered', value = ?, checked = ?, ended_at = max(?, opened_at) WHERE rk = ? AND place = ?
"""
_RECEIVED = "UPDATE signals SET taken = 1 WHERE id = ?"
_REOPEN = """
UPDATE waits SET status = 'open', value = NULL, by = NULL, ended_at = NULL, news = NULL, checked = 1, refused = ?
WHERE rk = ? AND place = ? AND status = 'answered' AND kind IN ('answer', 'signal', 'effect') RETURNING kind, name
"""
_DOUBT = "INSERT OR REPLACE INTO effects (rk, place, key, status) VALUES (?, ?, ?, 'intent')"


def open_wait(connection: sqlite3.Connection, lease: Lease, wait: NewWait, now: int) -> StoredWait:
    """Open a wait; one for a signal that was sent before is answered at once."""
    right = Right(lease)
    due_at = None if wait.due_at is None else to_micros(wait.due_at.timestamp())
    name = (wait.place, f"{lease.run_id}/{wait.place}")
    if lease.keep is Keep.ALL:
        for row in happened_rows(lease, wait.happened, None, now):
            connection.execute(*row)
    values = (lease.row, *name, wait.kind.value, wait.name, wait.prompt, due_at, now, *right.fence)
    if connection.execute(_OPEN, values).rowcount != 1:
        raise refusal(connection, right, wait.place, "free")
    connection.execute(_SETTLES, (lease.row,))
    if wait.kind is WaitKind.SIGNAL:
        _deliver_queued(connection, lease, wait.place, wait.name, now)
    return _stored(connection, lease, wait.place)


def reopen(connection: sqlite3.Connection, lease: Lease, place: str, *, why: str, now: int) -> StoredWait:
    """Drop what has ended a wait; one for a signal of which another one is queued is answered again at once."""
    check_held(connection, Right(lease))
    ended = connection.execute(_REOPEN, (why, lease.row, place)).fetchone()
    if ended is None:
        raise StaleCheckpoint(lease.run_id, place, "answered from outside")
    kind, name = ended
    if kind == WaitKind.SIGNAL:
        _deliver_queued(connection, lease, place, name, now)
    elif kind == WaitKind.EFFECT:
        connection.execute(_DOUBT, (lease.row, place, name))
    return _stored(connection, lease, place)


def park(connection: sqlite3.Connection, lease: Lease, heard: int) -> bool:
    """Let a run rest, unless it has news that its owner has not heard of."""
    right = Right(lease)
    check_held(connection, right)
    parks = connection.execute(_PARK, (lease.row, *right.fence, heard)).rowcount == 1
    if parks and lease.keep is Keep.ALL:
        note_resting(connection, lease)
    return parks


def _stored(connection: sqlite3.Connection, lease: Lease, place: str) -> StoredWait:
    return to_wait(connection.execute(_SELECT, (lease.row, place)).fetchone())


def _deliver_queued(connection: sqlite3.Connection, lease: Lease, place: str, name: str, now: int) -> None:
    queued = connection.execute(_QUEUED, (lease.row, name)).fetchone()
    if queued is not None:
        number, value, checked = queued
        connection.execute(_DELIVER, (value, checked, now, lease.row, place))
        connection.execute(_RECEIVED, (number,))
