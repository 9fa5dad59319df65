"""What a store does to a run, each as one function over a connection that is inside a transaction.

The fence stands in every statement that writes: it takes effect only while the run is ours (`epoch`), open, and nobody
has asked for its end; only the commit of that end gets by the last. A statement that changes no row is a refusal, and
`_refusal` says which; the caller's savepoint then undoes what came before it.
Deletions may find nothing to delete, so for them the fence is asked beforehand.
"""

import sqlite3
from typing import NamedTuple

from .._codec import join_values
from .._records import Closing, Commit, Frame, Item, Joined, Lease, NewRun, RunInfo, RunStatus
from ..errors import CancelRequested, CheckpointError, OwnershipLost, RunNotFound, RunNotOpen, StaleCheckpoint
from ._rows import RUN_COLUMNS, SELECT_RUN, dump_visits, to_run

_FENCE = "EXISTS (SELECT 1 FROM runs WHERE rk = ? AND epoch = ? AND cancelling <= ? AND status = 'running')"

_INSERT_RUN = """
INSERT INTO runs (run_id, workflow, version, status, key, input, owner, epoch, created_at)
VALUES (?, ?, ?, 'running', ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING RETURNING rk
"""
_SELECT_KEY = f"SELECT {RUN_COLUMNS} FROM runs WHERE workflow = ? AND key = ?"
_CLAIM = "UPDATE runs SET epoch = epoch + 1, owner = ? WHERE run_id = ? AND status = 'running' RETURNING rk, epoch"
_REOPEN = """
UPDATE runs SET status = 'running', error = NULL, finished_at = NULL
WHERE run_id = ? AND status = 'failed' RETURNING rk
"""
_RETRY_ITEMS = "UPDATE items SET status = 'waiting', error = NULL WHERE rk = ? AND status IN ('failed', 'cancelled')"
_INSERT_FRAME = f"""
INSERT INTO frames (rk, path, seq, next, visits, width, state) SELECT ?, ?, ?, ?, ?, ?, ?
WHERE {_FENCE} ON CONFLICT DO NOTHING
"""
_UPDATE_FRAME = f"""
UPDATE frames SET seq = ?, next = ?, visits = ?, width = ?, state = ?
WHERE rk = ? AND path = ? AND seq = ? AND {_FENCE}
"""
_HELD = f"SELECT 1 WHERE {_FENCE}"
_DELETE_FRAME = "DELETE FROM frames WHERE rk = ? AND path = ?"
_INSERT_ITEM = f"""
INSERT INTO items (rk, path, visit, idx, status, input) SELECT ?, ?, ?, ?, 'waiting', ?
WHERE {_FENCE} ON CONFLICT DO NOTHING
"""
_UPDATE_ITEM = f"""
UPDATE items SET status = ?, value = ?, error = ?
WHERE rk = ? AND path = ? AND visit = ? AND idx = ? AND status = 'waiting' AND {_FENCE}
"""
_DELETE_ITEMS = "DELETE FROM items WHERE rk = ? AND path = ? AND visit = ?"
_DELETE_BELOW = "DELETE FROM {table} WHERE rk = ? AND path > ? AND path < ?"
_CLOSE = """
UPDATE runs SET status = ?, error = ?, finished_at = ?
WHERE rk = ? AND epoch = ? AND cancelling <= ? AND status = 'running'
"""
_CANCEL = "UPDATE runs SET cancelling = 1 WHERE run_id = ? AND status = 'running'"


class _Right(NamedTuple):
    """What a commit is allowed.

    Attributes:
        lease: The lease it has.
        cancelled: Whether it may change a run whose end is asked for: 1 for the commit of that end, else 0.
    """

    lease: Lease
    cancelled: int = 0

    @property
    def fence(self) -> tuple[int, int, int]:
        """The values of `_FENCE`."""
        return (self.lease.row, self.lease.epoch, self.cancelled)


def create(connection: sqlite3.Connection, run: NewRun, now: int) -> tuple[Lease | None, RunInfo]:
    """Insert a run with its first frame, or find the one that was there."""
    row = connection.execute(
        _INSERT_RUN,
        (run.run_id, run.workflow, run.version, run.key, run.input, run.owner, now),
    ).fetchone()
    if row is None:
        return None, _existing(connection, run)
    lease = Lease(run.run_id, 1, row[0])
    _write_frame(connection, _Right(lease), run.root)
    return lease, _run(connection, run.run_id)


def cancel(connection: sqlite3.Connection, run_id: str) -> None:
    """Ask for the end of an open run: from now on it takes no other commit."""
    if connection.execute(_CANCEL, (run_id,)).rowcount != 1:
        raise RunNotOpen(run_id, _run(connection, run_id).status)


def _existing(connection: sqlite3.Connection, run: NewRun) -> RunInfo:
    row = connection.execute(SELECT_RUN, (run.run_id,)).fetchone()
    return to_run(row or connection.execute(_SELECT_KEY, (run.workflow, run.key)).fetchone())


def claim(connection: sqlite3.Connection, run_id: str, owner: str, *, reopen: bool) -> Lease:
    """Raise the epoch of an open run; with `reopen` open a failed one first."""
    if reopen:
        for (row,) in connection.execute(_REOPEN, (run_id,)).fetchall():
            connection.execute(_RETRY_ITEMS, (row,))
    claimed = connection.execute(_CLAIM, (owner, run_id)).fetchone()
    if claimed is None:
        raise RunNotOpen(run_id, _run(connection, run_id).status)
    return Lease(run_id, row=claimed[0], epoch=claimed[1])


def commit(connection: sqlite3.Connection, change: Commit, now: int) -> None:
    """Save one change of a run, all or nothing."""
    ends_cancelled = change.closing is not None and change.closing.status is RunStatus.CANCELLED
    right = _Right(change.lease, cancelled=int(ends_cancelled))
    if change.ended is not None or change.joined is not None:
        _check_held(connection, right)
    if change.frame is not None:
        _write_frame(connection, right, change.frame)
    for item in change.frozen:
        _insert_item(connection, right, item)
    for item in change.outcomes:
        _update_item(connection, right, item)
    if change.ended is not None:
        connection.execute(_DELETE_FRAME, (change.lease.row, change.ended))
    if change.joined is not None:
        _join(connection, right, change.joined)
    if change.closing is not None:
        _close(connection, right, change.closing, now)


def _check_held(connection: sqlite3.Connection, right: _Right) -> None:
    """The fence of deletions, which may well find nothing to delete."""
    if connection.execute(_HELD, right.fence).fetchone() is None:
        raise _refusal(connection, right, "", "open")


def _write_frame(connection: sqlite3.Connection, right: _Right, frame: Frame) -> None:
    content = (frame.next, dump_visits(frame.visits), frame.width, join_values(frame.state))
    row = right.lease.row
    if frame.seq == 1:
        changed = connection.execute(_INSERT_FRAME, (row, frame.path, 1, *content, *right.fence)).rowcount
    else:
        place = (row, frame.path, frame.seq - 1)
        changed = connection.execute(_UPDATE_FRAME, (frame.seq, *content, *place, *right.fence)).rowcount
    if changed != 1:
        raise _refusal(connection, right, frame.path, f"at version {frame.seq - 1}")


def _insert_item(connection: sqlite3.Connection, right: _Right, item: Item) -> None:
    values = (right.lease.row, item.path, item.visit, item.idx, item.input, *right.fence)
    if connection.execute(_INSERT_ITEM, values).rowcount != 1:
        raise _refusal(connection, right, f"{item.path}[{item.idx}]", "unknown")


def _update_item(connection: sqlite3.Connection, right: _Right, item: Item) -> None:
    key = (right.lease.row, item.path, item.visit, item.idx)
    values = (item.status.value, item.value, _readable(item.error), *key, *right.fence)
    if connection.execute(_UPDATE_ITEM, values).rowcount != 1:
        raise _refusal(connection, right, f"{item.path}[{item.idx}]", "waiting")


def _join(connection: sqlite3.Connection, right: _Right, joined: Joined) -> None:
    """Delete the items of a fan-out and whatever its failed items left below them: paths that start with ``path[``."""
    connection.execute(_DELETE_ITEMS, (right.lease.row, joined.path, joined.visit))
    below = (right.lease.row, f"{joined.path}[", f"{joined.path}\\")  # the character behind "["
    for table in ("frames", "items"):
        connection.execute(_DELETE_BELOW.format(table=table), below)


def _close(connection: sqlite3.Connection, right: _Right, closing: Closing, now: int) -> None:
    values = (closing.status.value, _readable(closing.error), now, *right.fence)
    if connection.execute(_CLOSE, values).rowcount != 1:
        raise _refusal(connection, right, "", "open")


def _readable(error: str | None) -> str | None:
    """An error's text, which may quote bytes that are no Unicode (names of files do), as text that can be stored."""
    return None if error is None else error.encode(errors="backslashreplace").decode()


def _refusal(connection: sqlite3.Connection, right: _Right, path: str, expected: str) -> CheckpointError:
    """Why a fenced statement changed no row."""
    lease = right.lease
    run = _run(connection, lease.run_id)
    if run.epoch != lease.epoch:
        return OwnershipLost(lease.run_id, lease.epoch, run.epoch)
    if run.status is not RunStatus.RUNNING:
        return RunNotOpen(lease.run_id, run.status)
    if run.cancelling and not right.cancelled:
        return CancelRequested(lease.run_id)
    return StaleCheckpoint(lease.run_id, path, expected)


def _run(connection: sqlite3.Connection, run_id: str) -> RunInfo:
    row = connection.execute(SELECT_RUN, (run_id,)).fetchone()
    if row is None:
        raise RunNotFound(run_id)
    return to_run(row)
