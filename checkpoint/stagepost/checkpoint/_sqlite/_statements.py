"""What a store does to a run, each as one function over a connection that is inside a transaction.

Every statement that writes for an owner carries the fence; only the commit of an end that was asked for gets by that
wish. Where a statement may rightly change nothing, the fence is asked beforehand.
"""

import sqlite3
from collections.abc import Sequence

from .._records import Closing, Commit, Joined, Keep, Lease, NewRun, RunInfo, RunStatus, Shape, StoredValue
from .._waiting import Effect, EffectStatus
from ..errors import RunNotOpen
from ._fence import Right, check_held, refusal, run_of
from ._history import keep_version
from ._queries import RUN_COLUMNS, SELECT_RUN
from ._retention import forget
from ._row import frame_row, frozen_row, outcome_row, readable
from ._rows import to_run
from ._times import to_time

_INSERT_RUN = """
INSERT INTO runs (run_id, workflow, version, status, key, input, owner, shape, trace, epoch, created_at, keep)
VALUES (?, ?, ?, 'running', ?, ?, ?, ?, ?, 1, ?, ?) ON CONFLICT DO NOTHING RETURNING rk
"""
_SELECT_KEY = f"SELECT {RUN_COLUMNS} FROM runs WHERE workflow = ? AND key = ?"
_CLAIM = """
UPDATE runs SET epoch = epoch + 1, owner = ?, status = 'running', attempts = attempts + ?, shape = coalesce(?, shape)
WHERE run_id = ? AND status IN ('running', 'waiting') RETURNING rk, epoch, keep
"""
_REOPEN = """
UPDATE runs SET status = 'running', error = NULL, finished_at = NULL, attempts = 0
WHERE run_id = ? AND status IN ('failed', 'dead') RETURNING rk
"""
_RETRY_ITEMS = "UPDATE items SET status = 'waiting', error = NULL WHERE rk = ? AND status IN ('failed', 'cancelled')"
_WAIT_AGAIN = "DELETE FROM waits WHERE rk = ? AND status = 'expired'"
_DELETE_FRAME = "DELETE FROM frames WHERE rk = ? AND path = ?"
_DELETE_ITEMS = "DELETE FROM items WHERE rk = ? AND path = ? AND visit = ?"
_DELETE_BELOW = "DELETE FROM {table} WHERE rk = ? AND path > ? AND path < ?"
_CLOSE = """
UPDATE runs SET status = ?, error = ?, finished_at = max(?, created_at) -- clocks are set back at times
WHERE rk = ? AND epoch = ? AND cancelling <= ? AND status = 'running'
"""
_CANCEL = "UPDATE runs SET cancelling = 1, status = 'running' WHERE run_id = ? AND status IN ('running', 'waiting')"
_INSERT_VALUE = "INSERT OR REPLACE INTO vals (rk, path, key, gen, idx, value) VALUES (?, ?, ?, ?, ?, ?)"
_DELETE_OLDER = "DELETE FROM vals WHERE rk = ? AND path = ? AND key = ? AND gen < ?"
_DELETE_VALUES = "DELETE FROM vals WHERE rk = ? AND path = ?"
_WRITE_EFFECT = "INSERT OR REPLACE INTO effects (rk, place, key, status, value) VALUES (?, ?, ?, ?, ?)"
_DELETE_EFFECT = "DELETE FROM effects WHERE rk = ? AND place = ? AND key = ?"
_INSERT_SHAPE = "INSERT OR IGNORE INTO shapes (id, workflow, version, skeleton) VALUES (?, ?, ?, ?)"
_SETTLE = "UPDATE runs SET attempts = 0 WHERE rk = ?"


def create(connection: sqlite3.Connection, run: NewRun, now: int) -> tuple[Lease | None, RunInfo]:
    """Insert a run with its first frame, or find the one that was there."""
    row = connection.execute(
        _INSERT_RUN,
        (
            *(run.run_id, run.workflow, run.version, run.key, run.input, run.owner),
            *(run.shape and run.shape.id, run.trace, now, run.keep.value),
        ),
    ).fetchone()
    if row is None:
        return None, _existing(connection, run)
    lease = Lease(run.run_id, 1, row[0], run.keep)
    frame_row(Right(lease), run.root)(connection)
    _write_values(connection, lease, run.values)
    if run.keep is Keep.ALL:
        keep_version(connection, lease, run.root, now)
    if run.shape is not None:
        connection.execute(_INSERT_SHAPE, (run.shape.id, run.workflow, run.version, run.shape.skeleton))
    return lease, _begun(run, now)


def _begun(run: NewRun, now: int) -> RunInfo:
    """What `run_of` would say, without asking: a store that takes many runs would do little else."""
    return RunInfo(
        run_id=run.run_id,
        workflow=run.workflow,
        version=run.version,
        status=RunStatus.RUNNING,
        key=run.key,
        input=run.input,
        error=None,
        cancelling=False,
        owner=run.owner,
        epoch=1,
        attempts=0,
        created_at=to_time(now),
        finished_at=None,
        trace=run.trace,
        keep=run.keep,
    )


def cancel(connection: sqlite3.Connection, run_id: str) -> None:
    """Ask for the end of an open run: from now on it takes no other commit."""
    if connection.execute(_CANCEL, (run_id,)).rowcount != 1:
        raise RunNotOpen(run_id, run_of(connection, run_id).status)


def _existing(connection: sqlite3.Connection, run: NewRun) -> RunInfo:
    row = connection.execute(SELECT_RUN, (run.run_id,)).fetchone()
    return to_run(row or connection.execute(_SELECT_KEY, (run.workflow, run.key)).fetchone())


def claim(
    connection: sqlite3.Connection, run_id: str, owner: str, *, reopen: bool, recovering: bool, shape: Shape | None
) -> Lease:
    """Raise the epoch of an open run; with `reopen` open a failed one first, with `recovering` count the attempt."""
    if reopen:
        for (row,) in connection.execute(_REOPEN, (run_id,)).fetchall():
            connection.execute(_RETRY_ITEMS, (row,))
            connection.execute(_WAIT_AGAIN, (row,))
    claimed = connection.execute(_CLAIM, (owner, int(recovering), shape and shape.id, run_id)).fetchone()
    if claimed is None:
        raise RunNotOpen(run_id, run_of(connection, run_id).status)
    if shape is not None:
        run = run_of(connection, run_id)
        connection.execute(_INSERT_SHAPE, (shape.id, run.workflow, run.version, shape.skeleton))
    return Lease(run_id, row=claimed[0], epoch=claimed[1], keep=Keep(claimed[2]))


def commit(connection: sqlite3.Connection, change: Commit, now: int) -> None:
    """Save one change of a run, all or nothing."""
    ends_cancelled = change.closing is not None and change.closing.status is RunStatus.CANCELLED
    right = Right(change.lease, cancelled=int(ends_cancelled))
    if not change.is_fenced:
        check_held(connection, right)
    if change.frame is not None:
        frame_row(right, change.frame)(connection)
    for item in change.frozen:
        frozen_row(right, item)(connection)
    for item in change.outcomes:
        outcome_row(right, item)(connection)
    if change.ended is not None:
        connection.execute(_DELETE_FRAME, (change.lease.row, change.ended))
        connection.execute(_DELETE_VALUES, (change.lease.row, change.ended))
    if change.joined is not None:
        _join(connection, right, change.joined)
    _write_values(connection, change.lease, change.values)
    _write_beside(connection, change, now)
    if change.closing is not None:
        _close(connection, right, change.closing, now)


def _write_beside(connection: sqlite3.Connection, change: Commit, now: int) -> None:
    """What is written only now and then."""
    if change.frame is not None and change.lease.keep is Keep.ALL:
        keep_version(connection, change.lease, change.frame, now)
    for effect in change.effects:
        _write_effect(connection, change.lease, effect)
    if change.settles:
        connection.execute(_SETTLE, (change.lease.row,))


def _write_values(connection: sqlite3.Connection, lease: Lease, values: Sequence[StoredValue]) -> None:
    for value in values:
        if value.idx == 0 and value.gen > 1:
            connection.execute(_DELETE_OLDER, (lease.row, value.path, value.key, value.gen))
        connection.execute(_INSERT_VALUE, (lease.row, value.path, value.key, value.gen, value.idx, value.value))


def _write_effect(connection: sqlite3.Connection, lease: Lease, effect: Effect) -> None:
    place = (lease.row, effect.place, effect.key)
    if effect.status is EffectStatus.UNDONE:
        connection.execute(_DELETE_EFFECT, place)
    else:
        connection.execute(_WRITE_EFFECT, (*place, effect.status.value, effect.value))


def _join(connection: sqlite3.Connection, right: Right, joined: Joined) -> None:
    """Delete the items of a fan-out and whatever its failed items left below them: paths that start with ``path[``."""
    connection.execute(_DELETE_ITEMS, (right.lease.row, joined.path, joined.visit))
    below = (right.lease.row, f"{joined.path}[", f"{joined.path}\\")  # the character behind "["
    for table in ("frames", "items", "vals"):
        connection.execute(_DELETE_BELOW.format(table=table), below)


def _close(connection: sqlite3.Connection, right: Right, closing: Closing, now: int) -> None:
    values = (closing.status.value, readable(closing.error), now, *right.fence)
    if connection.execute(_CLOSE, values).rowcount != 1:
        raise refusal(connection, right, "", "open")
    if right.lease.keep is Keep.NONE and closing.status in (RunStatus.COMPLETED, RunStatus.CANCELLED):
        forget(connection, right.lease.run_id)
