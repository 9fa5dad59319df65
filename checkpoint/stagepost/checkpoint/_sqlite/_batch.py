"""Group commit: many requests, one transaction, one fsync.

What waits becomes the next batch, usually all of it. But where many runs go on at once, all of them wait while the
batch is committed, and then the thread waits while the event loop takes all of them on to their next commit. If that
takes longer than a commit, half of them is saved at a time: while the disk has the one half, the loop works on the
other, and from then on they take turns.

Each request has a savepoint of its own, so that a refused one spoils no other; the change of one row needs none,
because SQLite undoes a failed statement by itself. If SQLite has rolled everything back (a full disk does), the
requests run again, one transaction each, so that one that is too large does not fail the others.
"""

import queue
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from time import perf_counter
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from ..errors import CheckpointError, StoreTakenOver
from ._changes import Changes, RowChange
from ._creating import Creation
from ._generation import refused
from ._together import save_together

T = TypeVar("T")
Work: TypeAlias = Callable[[sqlite3.Connection], object]

LARGEST: Final = 512  # bounds the time that one request can wait for the others of its batch
_WORTH: Final = 16  # a batch of fewer is not halved: the commit itself is what takes time then
_REFUSALS = (CheckpointError, sqlite3.Error, ValueError, OverflowError)  # the last two: what no column can hold
_FATAL = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class Intake(Generic[T]):
    """Filled by the event loop, emptied by the writing thread.

    Args:
        largest: How many requests make up a batch at most.
        clock: Seconds.

    Attributes:
        put: Lets a request wait for the next batch.
    """

    def __init__(self, *, largest: int = LARGEST, clock: Callable[[], float] = perf_counter) -> None:
        self._queue: queue.SimpleQueue[T | None] = queue.SimpleQueue()
        self.put: Callable[[T], None] = self._queue.put
        self._largest = largest
        self._clock = clock
        self._waiting: list[T] = []
        self._is_closed = False
        self._commit_took = 0.0

    def close(self) -> None:
        """Say that no more will come."""
        self._queue.put(None)

    def take(self, timeout: float | None) -> list[T]:
        """The next batch; empty if there will be none.

        Raises:
            queue.Empty: Nothing has come within so many seconds.
        """
        waited = 0.0 if self._waiting or self._is_closed else self._wait(timeout)
        self._collect()
        size = min(len(self._waiting), self._largest)
        if waited > self._commit_took and size >= _WORTH:
            size //= 2
        batch, self._waiting = self._waiting[:size], self._waiting[size:]
        return batch

    def drain(self) -> list[T]:
        """All that waits, and no longer does."""
        self._collect()
        waiting, self._waiting = self._waiting, []
        return waiting

    def put_back(self, requests: Iterable[T]) -> None:
        """Let requests wait again, before all that have come since."""
        self._waiting[:0] = requests

    def note_commit(self, seconds: float) -> None:
        """Say how long the batch took."""
        self._commit_took = seconds

    def _wait(self, timeout: float | None) -> float:
        since = self._clock()
        self._add(self._queue.get(timeout=timeout))
        return self._clock() - since

    def _collect(self) -> None:
        try:
            while True:
                self._add(self._queue.get_nowait())
        except queue.Empty:
            return

    def _add(self, request: T | None) -> None:
        if request is None:
            self._is_closed = True
        else:
            self._waiting.append(request)


class Uncascaded(Generic[T]):
    """Work that deletes runs without their rows in other tables, in a transaction of its own.

    Args:
        work: What it does.
    """

    def __init__(self, work: Callable[[sqlite3.Connection], T]) -> None:
        self._work = work

    def __call__(self, connection: sqlite3.Connection) -> T:
        return self._work(connection)


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
    if len(batch) == 1 and not isinstance(batch[0], Changes | Creation):  # one statement, or what needs several looks
        return None
    try:
        results = save_together(connection, batch)
        return None if results is None else list(map(_outcome, results))
    except (sqlite3.Error, ValueError, OverflowError) as error:
        roll_back(connection)
        return [Outcome(error=error)] * len(batch) if is_fatal(error) or is_busy(error) else None


def _one_by_one(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
    if any(isinstance(work, Uncascaded) for work in batch):
        return [_alone(connection, work) for work in batch]
    return _in_turn(connection, batch)


def _alone(connection: sqlite3.Connection, work: Work) -> Outcome:
    """One request, for which foreign keys are not enforced if it says so; that cannot change in a transaction."""
    is_cascading = not isinstance(work, Uncascaded)
    connection.execute(f"PRAGMA foreign_keys = {is_cascading}")
    try:
        return _in_turn(connection, [work])[0]
    finally:
        connection.execute("PRAGMA foreign_keys = ON")


def _in_turn(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
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
        return [_in_turn(connection, [work])[0] for work in batch]
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
