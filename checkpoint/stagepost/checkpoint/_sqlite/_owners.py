"""Owners and whose runs are, each as one function over a connection in a transaction.

An owner is living until it leaves, misses its heartbeats, or, where there can only be one, another one joins. Its death
is final: it comes back under another number. So a run is free if its owner is dead or it has none.
"""

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeVar

from .._happening import Happening
from .._ownership import Cancelled, Change, Freed, Lost, News, Owner
from .._records import Keep, Lease, Shape
from ..errors import CheckpointError, OwnerExpired, RunNotOpen, RunOwned, StoreInUse
from ._changes import shape_row
from ._error_words import index_errors
from ._fence import run_of
from ._happened import note_claimed, note_going_on
from ._queries import RUN_COLUMNS, Row, as_bytes, as_text
from ._rows import making_sense

T = TypeVar("T")

FREE = "(owner IS NULL OR NOT EXISTS (SELECT 1 FROM owners WHERE owners.id = runs.owner AND NOT dead))"
_BURY = """
UPDATE owners SET dead = 1 WHERE NOT dead
AND (expires_at < ? OR ((expires_at IS NULL OR {is_alone}) AND id NOT IN ({joined})))
RETURNING id, expires_at IS NOT NULL
"""
_VOID = "UPDATE runs SET epoch = epoch + 1, heard = news - 1 WHERE owner = ? AND status = 'running' RETURNING run_id"
_FIRST_CLAIM: Final = 2  # epoch
_LIVING = "SELECT name FROM owners WHERE NOT dead"
_JOIN = "INSERT INTO owners (name, expires_at) VALUES (?, ?) RETURNING id"
_PROBE = (
    "INSERT INTO owners (name, dead) VALUES ('probe', 1) RETURNING id"  # an update that changes nothing writes nothing
)
_PROBED = "DELETE FROM owners WHERE id = ?"
_BEAT = "UPDATE owners SET expires_at = ? WHERE id = ? AND NOT dead"
_LIVES = "SELECT 1 FROM owners WHERE id = ? AND NOT dead"
_NAME = "SELECT name FROM owners WHERE id = ?"
_ACQUIRE = f"""
UPDATE runs SET attempts = attempts + (owner IS NOT NULL), owner = ? WHERE rk IN (
  SELECT rk FROM runs WHERE status = 'running' AND run_id > CAST(? AS TEXT) AND {FREE} ORDER BY run_id LIMIT ?
) RETURNING {RUN_COLUMNS}
"""
_CLAIM = f"""
UPDATE runs SET
  epoch = epoch + 1, attempts = attempts + (?5 AND owner IS NOT NULL AND owner <> ?1), owner = ?1, status = 'running',
  heard = news, blocked = NULL, shape = coalesce(?2, shape)
WHERE run_id = ?3 AND status IN ('running', 'waiting') AND (?4 OR owner = ?1 OR {FREE}) RETURNING rk, epoch, keep, news
"""
_OWNER = "SELECT owner FROM runs WHERE run_id = ? AND status = 'running'"
_REOPEN = """
UPDATE runs SET status = 'running', error = NULL, finished_at = NULL, attempts = 0, owner = NULL
WHERE run_id = ? AND status IN ('failed', 'dead') RETURNING rk
"""
_RETRY_ITEMS = "UPDATE items SET status = 'waiting', error = NULL WHERE rk = ? AND status IN ('failed', 'cancelled')"
_WAIT_AGAIN = "DELETE FROM waits WHERE rk = ? AND status = 'expired'"
_CHANGES = f"""
SELECT CAST(run_id AS BLOB), news, owner IS ?1, cancelling FROM runs INDEXED BY runs_news
WHERE news > heard AND status = 'running' AND (owner = ?1 OR {FREE})
"""
_HEARD = f"""
UPDATE runs SET heard = max(heard, min(?2, news)) WHERE run_id = ?3 AND (owner = ?1 OR (?4 AND {FREE}))
"""
_BLOCK = f"""
UPDATE runs SET blocked = ?2 WHERE run_id = ?3 AND status IN ('running', 'waiting') AND (owner = ?1 OR {FREE})
"""
_LEAVE = "UPDATE owners SET dead = 1 WHERE id = ?"
_FREE_RUNS = """
UPDATE runs SET owner = NULL, heard = iif(?, news - 1, heard) -- so that others are told of it
WHERE owner = ? AND status = 'running'
"""


def join(
    connection: sqlite3.Connection,
    name: str,
    *,
    store: str,
    most: int,
    expires_at: int | None,
) -> int:
    """Add an owner; returns its number.

    Args:
        connection: The connection.
        name: What it is called.
        store: What the store is called.
        most: How many may live.
        expires_at: When it is dead without a heartbeat.

    Raises:
        StoreInUse: There are as many.
    """
    living = [str(name) for (name,) in connection.execute(_LIVING)]
    if len(living) >= most:
        raise StoreInUse(store, living[0])
    number: int = connection.execute(_JOIN, (name, expires_at)).fetchone()[0]
    return number


def bury(
    connection: sqlite3.Connection, now: int, joined: Collection[int], *, is_alone: bool
) -> Mapping[int, Sequence[Lost]]:
    """Let those be dead of whom no heartbeat has come, and their leases void; others hear of their runs.

    Args:
        connection: The connection.
        now: The time.
        joined: Those who need no heartbeat and are living; others who need none are of a process that has ended.
        is_alone: Whether nobody needs one, whatever is stored of former owners.

    Returns:
        For each of them the runs that it has lost.
    """
    dead = connection.execute(_BURY.format(joined=", ".join(map(str, joined)), is_alone=is_alone), (now,)).fetchall()
    return {number: _void(connection, number) if has_leases else () for number, has_leases in dead}


def check_lives(connection: sqlite3.Connection, owner: Owner) -> None:
    """See that an owner is living.

    Raises:
        OwnerExpired: It is not.
    """
    if connection.execute(_LIVES, (owner.id,)).fetchone() is None:
        raise OwnerExpired(owner.name)


def probe(connection: sqlite3.Connection) -> None:
    """Write something, and take it back."""
    connection.execute(_PROBED, connection.execute(_PROBE).fetchone())


def beat(connection: sqlite3.Connection, owner: Owner, expires_at: int | None) -> bool:
    """Let an owner live until a time; False if it is dead."""
    return connection.execute(_BEAT, (expires_at, owner.id)).rowcount == 1


def create(connection: sqlite3.Connection, owner: int, creation: Callable[[sqlite3.Connection], T]) -> T:
    """Create a run, if its owner is living.

    Raises:
        OwnerExpired: It is not.
    """
    name = connection.execute(_NAME, (owner,)).fetchone()
    if connection.execute(_LIVES, (owner,)).fetchone() is None and name is not None:
        raise OwnerExpired(name[0])
    return creation(connection)


def acquire(connection: sqlite3.Connection, owner: Owner, after: str, limit: int) -> list[Row]:
    """Make free runs an owner's; returns their rows."""
    check_lives(connection, owner)
    return connection.execute(_ACQUIRE, (owner.id, as_bytes(after), limit)).fetchall()


def claim(
    connection: sqlite3.Connection,
    owner: Owner,
    run_id: str,
    *,
    reopen: bool,
    force: bool,
    counts: bool,
    shape: Shape | None,
    begins: Sequence[Happening] = (),
    now: int = 0,
) -> tuple[Lease, int | None]:
    """Raise the epoch of an open run; with `reopen` open a failed one first.

    Returns:
        The lease, and the number of the owner that had the run.
    """
    check_lives(connection, owner)
    is_reopened = False
    if reopen:
        for (row,) in connection.execute(_REOPEN, (run_id,)).fetchall():
            is_reopened = True
            connection.execute(_RETRY_ITEMS, (row,))
            connection.execute(_WAIT_AGAIN, (row,))
            index_errors(connection)
    before = connection.execute(_OWNER, (run_id,)).fetchone()
    claimed = connection.execute(_CLAIM, (owner.id, shape and shape.id, run_id, force, counts)).fetchone()
    if claimed is None:
        raise _refusal(connection, run_id)
    with making_sense(run_id):
        row, epoch, keep, news = claimed
        lease = Lease(run_id, row=row, epoch=epoch, keep=Keep(keep), owner=owner.id, news=news)
    if lease.keep is Keep.ALL:
        former = None if before is None else before[0]
        is_queued = epoch == _FIRST_CLAIM and former == owner.id  # since this owner has created it
        if not is_queued:
            is_left = former not in (None, owner.id)
            note_claimed(connection, lease, now, outcome="resumed" if is_reopened else "recovered" if is_left else None)
        if counts:  # others claim it only to end it
            note_going_on(connection, lease, now, begins)
    if shape is not None:
        run = run_of(connection, run_id)
        shape_row(lease, shape, run.workflow, run.version)(connection)
    return lease, before and before[0]


def changes(connection: sqlite3.Connection, owner: int) -> Sequence[Change]:
    """What was written for the runs of an owner, and for free ones, that nobody has heard of."""
    rows = connection.execute(_CHANGES, (owner,)).fetchall()
    return [_change(as_text(run_id), *row) for run_id, *row in rows]


def heard(connection: sqlite3.Connection, owner: Owner, news: Mapping[str, int], *, is_alone: bool) -> None:
    """Write down what an owner was told; of a free run nobody else is told then, which only matters if there is one."""
    connection.executemany(_HEARD, [(owner.id, count, run_id, is_alone) for run_id, count in news.items()])


def block(connection: sqlite3.Connection, owner: Owner, run_id: str, why: str | None) -> None:
    """Write down why nobody can go on with a run."""
    connection.execute(_BLOCK, (owner.id, why, run_id))


def leave(connection: sqlite3.Connection, owner: Owner, *, tell: bool) -> None:
    """Let an owner's runs be free, and with `tell` others hear of that."""
    connection.execute(_LEAVE, (owner.id,))
    connection.execute(_FREE_RUNS, (tell, owner.id))


def _void(connection: sqlite3.Connection, number: int) -> Sequence[Lost]:
    return [Lost(*row) for row in connection.execute(_VOID, (number,)).fetchall()]


def _refusal(connection: sqlite3.Connection, run_id: str) -> CheckpointError:
    """Why a run could not be claimed."""
    run = run_of(connection, run_id)
    if not run.status.is_open:
        return RunNotOpen(run_id, run.status)
    return RunOwned(run_id, connection.execute(_NAME, (run.owner,)).fetchone()[0])


def _change(run_id: str, news: int, is_held: int, cancelling: int) -> Change:
    if cancelling:
        return Cancelled(run_id, news)
    return News(run_id, news) if is_held else Freed(run_id, news)
