"""What a store does about waits, signals and effects in doubt, each as one function over a connection in a transaction.

Opening a wait and parking belong to the run's owner and are fenced. Answers come from anybody: of several the first one
counts, because only an open wait changes, and the run that was parked is open to be claimed from that moment.
"""

import sqlite3
from typing import NoReturn

from .._records import Lease
from .._waiting import Due, NewWait, Wait, WaitKind, WaitStatus
from ..errors import AlreadyAnswered, EffectNotFound, RunNotOpen, WaitNotFound
from ._fence import FENCE, Right, check_held, refusal, run_of
from ._queries import WAIT_COLUMNS
from ._rows import to_wait
from ._times import LAST, to_micros, to_time

_RK = "(SELECT rk FROM runs WHERE run_id = ?)"
_OPEN = f"""
INSERT INTO waits (rk, place, id, kind, name, prompt, due_at, status, opened_at)
SELECT ?, ?, ?, ?, ?, ?, ?, 'open', ?
WHERE {FENCE}
ON CONFLICT (rk, place) DO UPDATE SET
  kind = excluded.kind, name = excluded.name, prompt = excluded.prompt, due_at = excluded.due_at, status = 'open',
  value = NULL, by = NULL, opened_at = excluded.opened_at, ended_at = NULL
"""
_SELECT = f"SELECT {WAIT_COLUMNS} FROM waits WHERE rk = ? AND place = ?"
_PARK = f"""
UPDATE runs SET status = 'waiting', attempts = 0 WHERE rk = ? AND {FENCE}
AND (SELECT count(*) FROM waits WHERE rk = runs.rk AND status <> 'open') = ?
"""
_SETTLES = "UPDATE runs SET attempts = 0 WHERE rk = ? AND attempts > 0"
_ANSWER = f"""
UPDATE waits SET status = 'answered', value = ?, by = ?, ended_at = max(?, opened_at)
WHERE rk = {_RK} AND place = ? AND kind = ? AND status = 'open'
"""
_STATUS = f"SELECT kind, status, name FROM waits WHERE rk = {_RK} AND place = ?"
_WAKE = "UPDATE runs SET status = 'running' WHERE run_id = ? AND status = 'waiting'"
_SEND = f"INSERT INTO signals (rk, name, dedup, value) VALUES ({_RK}, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id"
_RECEIVER = f"""
SELECT place FROM waits WHERE rk = {_RK} AND kind = 'signal' AND name = ? AND status = 'open'
ORDER BY waits.rowid LIMIT 1 -- as they were opened: clocks are set back at times
"""
_QUEUED = "SELECT id, value FROM signals WHERE rk = ? AND name = ? AND taken = 0 ORDER BY id LIMIT 1"
_RECEIVED = "UPDATE signals SET taken = 1 WHERE id = ?"
_DUE = """
SELECT run_id, place FROM waits INDEXED BY waits_due CROSS JOIN runs USING (rk)
WHERE waits.status = 'open' AND due_at <= ? AND runs.status IN ('running', 'waiting') ORDER BY due_at LIMIT ?
"""
_EXPIRE = f"UPDATE waits SET status = 'expired', ended_at = max(?, opened_at) WHERE rk = {_RK} AND place = ?"
_NEXT_DUE = f"""
SELECT due_at FROM waits INDEXED BY waits_due CROSS JOIN runs USING (rk)
WHERE waits.status = 'open' AND due_at <= {LAST} AND runs.status IN ('running', 'waiting') ORDER BY due_at LIMIT 1
"""
_PARENTS = """
SELECT run_id, place FROM waits INDEXED BY waits_child CROSS JOIN runs USING (rk)
WHERE kind = 'child' AND name = ? AND waits.status = 'open'
"""
_SETTLE = f"UPDATE effects SET status = 'done', value = ? WHERE rk = {_RK} AND place = ? AND key = ?"
_FORGET = f"DELETE FROM effects WHERE rk = {_RK} AND place = ? AND key = ?"


def open_wait(connection: sqlite3.Connection, lease: Lease, wait: NewWait, now: int) -> Wait:
    """Open a wait; one for a signal that was sent before is answered at once."""
    right = Right(lease)
    due_at = None if wait.due_at is None else to_micros(wait.due_at.timestamp())
    name = (wait.place, f"{lease.run_id}/{wait.place}")
    values = (lease.row, *name, wait.kind.value, wait.name, wait.prompt, due_at, now, *right.fence)
    if connection.execute(_OPEN, values).rowcount != 1:
        raise refusal(connection, right, wait.place, "free")
    connection.execute(_SETTLES, (lease.row,))
    if wait.kind is WaitKind.SIGNAL:
        _deliver_queued(connection, lease, wait, now)
    return to_wait(connection.execute(_SELECT, (lease.row, wait.place)).fetchone())


def park(connection: sqlite3.Connection, lease: Lease, heard: int) -> bool:
    """Let a run rest, unless more of its waits have ended than its owner has heard of."""
    right = Right(lease)
    check_held(connection, right)
    return connection.execute(_PARK, (lease.row, *right.fence, heard)).rowcount == 1


def answer(
    connection: sqlite3.Connection,
    run_id: str,
    place: str,
    value: bytes,
    *,
    name: str | None,
    by: str | None,
    now: int,
) -> None:
    """Give the answer that a wait is open for."""
    _check_open(connection, run_id)
    asked = connection.execute(_STATUS, (run_id, place)).fetchone()
    if asked is not None and asked[0] == WaitKind.ANSWER and name not in (None, asked[2]):
        raise AlreadyAnswered(run_id, place, WaitStatus.ANSWERED)
    if connection.execute(_ANSWER, (value, by, now, run_id, place, WaitKind.ANSWER.value)).rowcount != 1:
        _refuse(connection, run_id, place)
    connection.execute(_WAKE, (run_id,))


def signal(
    connection: sqlite3.Connection, run_id: str, name: str, value: bytes, *, dedup: str | None, now: int
) -> bool:
    """Send a signal to whoever waits for it first, or queue it; False if it was sent before."""
    _check_open(connection, run_id)
    sent = connection.execute(_SEND, (run_id, name, dedup, value)).fetchone()
    if sent is None:
        return False
    receiver = connection.execute(_RECEIVER, (run_id, name)).fetchone()
    if receiver is not None:
        connection.execute(_ANSWER, (value, None, now, run_id, *receiver, WaitKind.SIGNAL.value))
        connection.execute(_RECEIVED, sent)
        connection.execute(_WAKE, (run_id,))
    return True


def expire(connection: sqlite3.Connection, now: int, limit: int) -> Due:
    """End the waits whose time has come."""
    due = connection.execute(_DUE, (now, limit)).fetchall()
    for run_id, place in due:
        connection.execute(_EXPIRE, (now, run_id, place))
        connection.execute(_WAKE, (run_id,))
    following = connection.execute(_NEXT_DUE).fetchone()
    return Due(tuple(dict.fromkeys(run_id for run_id, _ in due)), None if following is None else to_time(*following))


def release(connection: sqlite3.Connection, child: str, now: int) -> tuple[str, ...]:
    """Wake the runs that wait for another one."""
    parents = connection.execute(_PARENTS, (child,)).fetchall()
    for run_id, place in parents:
        connection.execute(_ANSWER, (b"null", None, now, run_id, place, WaitKind.CHILD.value))
        connection.execute(_WAKE, (run_id,))
    return tuple(dict.fromkeys(run_id for run_id, _ in parents))


def settle(connection: sqlite3.Connection, run_id: str, place: str, key: str, *, value: bytes | None, now: int) -> None:
    """Say what became of an effect in doubt: it was done and returned `value`, or (None) it did not happen."""
    _check_open(connection, run_id)
    if connection.execute(_ANSWER, (value, None, now, run_id, place, WaitKind.EFFECT.value)).rowcount != 1:
        raise EffectNotFound(run_id, key, place)
    if value is None:
        changed = connection.execute(_FORGET, (run_id, place, key)).rowcount
    else:
        changed = connection.execute(_SETTLE, (value, run_id, place, key)).rowcount
    if changed != 1:
        raise EffectNotFound(run_id, key, place)
    connection.execute(_WAKE, (run_id,))


def _deliver_queued(connection: sqlite3.Connection, lease: Lease, wait: NewWait, now: int) -> None:
    queued = connection.execute(_QUEUED, (lease.row, wait.name)).fetchone()
    if queued is not None:
        number, value = queued
        connection.execute(_ANSWER, (value, None, now, lease.run_id, wait.place, WaitKind.SIGNAL.value))
        connection.execute(_RECEIVED, (number,))


def _check_open(connection: sqlite3.Connection, run_id: str) -> None:
    run = run_of(connection, run_id)
    if not run.status.is_open:
        raise RunNotOpen(run_id, run.status)
    if run.cancelling:
        raise RunNotOpen(run_id, "being cancelled")


def _refuse(connection: sqlite3.Connection, run_id: str, place: str) -> NoReturn:
    found = connection.execute(_STATUS, (run_id, place)).fetchone()
    if found is None or found[0] != WaitKind.ANSWER:
        raise WaitNotFound(run_id, place)
    raise AlreadyAnswered(run_id, place, found[1])
