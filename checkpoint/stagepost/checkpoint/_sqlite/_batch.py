"""Group commit: many requests, one transaction, one fsync.

Each request has a savepoint of its own, so that a refused one spoils no other; the change of one row needs none,
because SQLite undoes a failed statement by itself. If SQLite has rolled everything back (a full disk does), the
requests run again, one transaction each, so that one that is too large does not fail the others.
"""

import sqlite3
from collections.abc import Callable, Sequence
from copy import copy
from typing import NamedTuple, TypeAlias

from ..errors import CheckpointError, StoreTakenOver
from ._generation import refused
from ._row import RowChange
from ._together import save_together

Work: TypeAlias = Callable[[sqlite3.Connection], object]

_REFUSALS = (CheckpointError, sqlite3.Error, ValueError, OverflowError)  # the last two: what no column can hold
_FATAL = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class Outcome(NamedTuple):
    """What became of one request: a result, or the error it ended with and nothing of it in the database."""

    result: object = None
    error: Exception | None = None


_DONE = Outcome()


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 where the error does not come from SQLite itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_fatal(error: Exception | None) -> bool:
    """Whether the database can no longer be trusted after this error."""
    return isinstance(error, sqlite3.Error) and primary_code(error) in _FATAL


def is_busy(error: Exception) -> bool:
    """Whether another process holds the write lock, so that nothing was done."""
    return isinstance(error, sqlite3.Error) and primary_code(error) == sqlite3.SQLITE_BUSY


def is_final(error: Exception) -> bool:
    """Whether no request will do any better after this error."""
    return isinstance(error, StoreTakenOver) or is_fatal(error)


def run_batch(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
    """Run all requests and commit once; the outcomes are in the order of the requests."""
    return _all_at_once(connection, batch) or _one_by_one(connection, batch)


def _all_at_once(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome] | None:
    """What steps and items are committed by, and runs begun; None if it cannot be done so."""
    if len(batch) == 1 and isinstance(batch[0], RowChange):  # which needs no trigger
        return None
    try:
        results = save_together(connection, batch)
        return None if results is None else list(map(_outcome, results))
    except (sqlite3.Error, ValueError, OverflowError) as error:
        roll_back(connection)
        return [Outcome(error=error)] * len(batch) if is_fatal(error) or is_busy(error) else None


def _one_by_one(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
    try:
        connection.execute("BEGIN IMMEDIATE")
        refusal = refused(connection)
        if refusal is not None:
            roll_back(connection)
            return [Outcome(error=copy(refusal)) for _ in batch]  # one each: they are raised in several tasks
    except sqlite3.Error as error:  # nobody's fault in the batch: another program holds the file, or it is broken
        roll_back(connection)
        return [Outcome(error=error)] * len(batch)
    try:
        outcomes = [_attempt(connection, work) for work in batch]
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        roll_back(connection)
        if len(batch) == 1 or is_fatal(error):
            return [Outcome(error=error)] * len(batch)
        return [_one_by_one(connection, [work])[0] for work in batch]
    except BaseException:  # a bug in a request: it goes to whoever runs batches, on a connection that is still usable
        roll_back(connection)
        raise
    return outcomes


def _attempt(connection: sqlite3.Connection, work: Work) -> Outcome:
    has_savepoint = not isinstance(work, RowChange)
    if has_savepoint:
        connection.execute("SAVEPOINT request")
    try:
        result = work(connection)
    except _REFUSALS as error:
        if is_fatal(error) or not connection.in_transaction:  # rolled back as a whole, savepoints included
            raise
        if has_savepoint:
            connection.execute("ROLLBACK TO request")
            connection.execute("RELEASE request")
        return Outcome(error=error)
    if has_savepoint:
        connection.execute("RELEASE request")
    return _outcome(result)


def _outcome(result: object) -> Outcome:
    return _DONE if result is None else Outcome(result)


def roll_back(connection: sqlite3.Connection) -> None:
    """End a transaction that is still open."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
