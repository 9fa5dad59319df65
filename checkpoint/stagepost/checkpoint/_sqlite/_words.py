"""What anybody writes for a run, each as one function over a connection in a transaction: answers, signals, and so on.

All of these raise the run's news, and a parked run is running again, and nobody's until it is claimed. Of several
answers the first one counts, because only an open wait changes.
"""

import sqlite3
from datetime import datetime
from typing import NoReturn

from .._waiting import WaitKind, WaitStatus
from ..errors import AlreadyAnswered, EffectNotFound, RunNotFound, RunNotOpen, WaitNotFound
from ._fence import run_of
from ._rows import LAST, to_time

_RAISE = "UPDATE runs SET news = news + 1, status = 'running' WHERE run_id = ? RETURNING rk, news"
_RAISE_QUIETLY = """
UPDATE runs SET news = news + 1, heard = heard + (status = 'waiting') -- as far as it rests, nobody has to hear of it
WHERE run_id = ?
"""
_END = """
UPDATE waits SET status = ?, value = ?, by = ?, news = ?, checked = ?, refused = NULL, ended_at = max(?, opened_at)
WHERE rk = ? AND place = ? AND kind = ? AND status = 'open'
"""
_RK = "(SELECT rk FROM runs WHERE run_id = ?)"
_STANDS = "SELECT status, status IN ('running', 'waiting'), cancelling FROM runs WHERE run_id = ?"
_STATUS = f"SELECT kind, status, name FROM waits WHERE rk = {_RK} AND place = ?"
_SEND = f"""
INSERT INTO signals (rk, name, dedup, value, checked) VALUES ({_RK}, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id
"""
_RECEIVER = f"""
SELECT place FROM waits WHERE rk = {_RK} AND kind = 'signal' AND name = ? AND status = 'open'
ORDER BY waits.rowid LIMIT 1 -- as they were opened: clocks are set back at times
"""
_RECEIVED = "UPDATE signals SET taken = 1 WHERE id = ?"
_DUE = """
SELECT run_id, place, kind FROM waits INDEXED BY waits_due CROSS JOIN runs USING (rk)
WHERE waits.status = 'open' AND due_at <= ? AND runs.status IN ('running', 'waiting') ORDER BY due_at LIMIT ?
"""
_NEXT_DUE = f"""
SELECT due_at FROM waits INDEXED BY waits_due CROSS JOIN runs USING (rk)
WHERE waits.status = 'open' AND due_at <= {LAST} AND runs.status IN ('running', 'waiting') ORDER BY due_at LIMIT 1
"""
_PARENTS = """
SELECT run_id, place FROM waits INDEXED BY waits_child CROSS JOIN runs USING (rk)
WHERE kind = 'child' AND name = ? AND waits.status = 'open' AND runs.status IN ('running', 'waiting')
"""
_SETTLE = f"UPDATE effects SET status = 'done', value = ? WHERE rk = {_RK} AND place = ? AND key = ?"
_FORGET = f"DELETE FROM effects WHERE rk = {_RK} AND place = ? AND key = ?"
_CANCEL = """
UPDATE runs SET cancelling = 1, status = 'running', news = news + 1 - cancelling
WHERE {which} AND status IN ('running', 'waiting')
"""
_CANCEL_ONE = _CANCEL.format(which="run_id = ?")
_CANCEL_BELOW = _CANCEL.format(which="run_id > ? AND run_id < ?")


def answer(
    connection: sqlite3.Connection,
    run_id: str,
    place: str,
    value: bytes,
    *,
    name: str | None,
    by: str | None,
    checked: bool,
    now: int,
) -> None:
    """Give the answer that a wait is open for."""
    _check_open(connection, run_id)
    asked = connection.execute(_STATUS, (run_id, place)).fetchone()
    if asked is not None and asked[0] == WaitKind.ANSWER and name not in (None, asked[2]):
        raise AlreadyAnswered(run_id, place, WaitStatus.ANSWERED)
    if not _end(connection, run_id, place, WaitKind.ANSWER, value=value, by=by, checked=checked, now=now):
        _refuse(connection, run_id, place)


def signal(
    connection: sqlite3.Connection,
    run_id: str,
    name: str,
    value: bytes,
    *,
    dedup: str | None,
    checked: bool,
    now: int,
) -> bool:
    """Send a signal to whoever waits for it first, or queue it; False if it was sent before."""
    _check_open(connection, run_id)
    sent = connection.execute(_SEND, (run_id, name, dedup, value, checked)).fetchone()
    if sent is None:
        return False
    receiver = connection.execute(_RECEIVER, (run_id, name)).fetchone()
    if receiver is None:
        connection.execute(_RAISE_QUIETLY, (run_id,))
    else:
        _end(connection, run_id, receiver[0], WaitKind.SIGNAL, value=value, checked=checked, now=now)
        connection.execute(_RECEIVED, sent)
    return True


def settle(
    connection: sqlite3.Connection,
    run_id: str,
    place: str,
    key: str,
    *,
    value: bytes | None,
    checked: bool,
    now: int,
) -> None:
    """Say what became of an effect in doubt: it was done and returned `value`, or (None) it did not happen."""
    _check_open(connection, run_id)
    if not _end(connection, run_id, place, WaitKind.EFFECT, value=value, checked=checked, now=now):
        raise EffectNotFound(run_id, key, place)
    if value is None:
        changed = connection.execute(_FORGET, (run_id, place, key)).rowcount
    else:
        changed = connection.execute(_SETTLE, (value, run_id, place, key)).rowcount
    if changed != 1:
        raise EffectNotFound(run_id, key, place)


def cancel(connection: sqlite3.Connection, run_id: str) -> None:
    """Request the end of an open run and of all open ones below it: from now on they take no other commit."""
    if connection.execute(_CANCEL_ONE, (run_id,)).rowcount != 1:
        raise RunNotOpen(run_id, run_of(connection, run_id).status)
    connection.execute(_CANCEL_BELOW, (f"{run_id}.", f"{run_id}/"))  # the character after the dot


def release(connection: sqlite3.Connection, child: str, now: int) -> None:
    """End the waits for the end of a run."""
    for run_id, place in connection.execute(_PARENTS, (child,)).fetchall():
        _end(connection, run_id, place, WaitKind.CHILD, value=b"null", now=now)


def expire(connection: sqlite3.Connection, now: int, limit: int) -> datetime | None:
    """End the waits whose time has come; returns when the next one is due."""
    for run_id, place, kind in connection.execute(_DUE, (now, limit)).fetchall():
        _end(connection, run_id, place, kind, status=WaitStatus.EXPIRED, now=now)
    following = connection.execute(_NEXT_DUE).fetchone()
    return None if following is None else to_time(*following)


def _end(
    connection: sqlite3.Connection,
    run_id: str,
    place: str,
    kind: str,
    *,
    status: WaitStatus = WaitStatus.ANSWERED,
    value: bytes | None = None,
    by: str | None = None,
    checked: bool = True,
    now: int,
) -> bool:
    """End an open wait of this kind, and tell its run; False if there is none."""
    row, news = connection.execute(_RAISE, (run_id,)).fetchone()
    values = (str(status), value, by, news, checked, now, row, place, str(kind))
    return connection.execute(_END, values).rowcount == 1


def _check_open(connection: sqlite3.Connection, run_id: str) -> None:
    found = connection.execute(_STANDS, (run_id,)).fetchone()
    if found is None:
        raise RunNotFound(run_id)
    status, is_open, cancelling = found
    if not is_open or cancelling:
        raise RunNotOpen(run_id, "being cancelled" if is_open else status)


def _refuse(connection: sqlite3.Connection, run_id: str, place: str) -> NoReturn:
    found = connection.execute(_STATUS, (run_id, place)).fetchone()
    if found is None or found[0] != WaitKind.ANSWER:
        raise WaitNotFound(run_id, place)
    raise AlreadyAnswered(run_id, place, found[1])
