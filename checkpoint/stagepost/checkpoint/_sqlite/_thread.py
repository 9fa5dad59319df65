"""The writing thread: one connection, natural group commit, the WAL, and what other processes have written.

Whatever has queued up while a batch was being committed becomes the next batch: a lone run pays one thread hop, a
hundred runs share one fsync. The thread alone checkpoints the WAL, when it has nothing else to do or the WAL is large.

While another process holds the write lock, requests wait and are tried again: those of runs until it lets go, those of
callers from outside a few seconds. Nothing of them is in the database meanwhile.

Whoever listens is told of what nobody has heard of: after each batch that has brought news, and when SQLite says that
another process has written, which it is asked five times a second.
"""

import asyncio
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from copy import copy
from pathlib import Path
from time import perf_counter, sleep
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar

from .._ownership import Change
from ..errors import StoreError, StoreFailed, StoreLocked, StoreLost, StoreTakenOver
from ._batch import Intake, Outcome, Work, is_busy, is_final
from ._connect import LARGEST_WAL
from ._generation import WritingConnection, copy_wal, lost

ErrorT = TypeVar("ErrorT", bound=StoreError)
RunBatch: TypeAlias = Callable[[sqlite3.Connection, Sequence[Work]], list[Outcome]]

_IDLE: Final = 0.5  # seconds without a request before the WAL is checkpointed
_HEAR: Final = 0.2  # seconds after which SQLite is asked whether another process has written
_LOOK: Final = 0.05  # seconds after which all files are looked at again before a batch
_WAY: Final = 0.02  # seconds of batches without a pause after which those who write beside the owner have their turn
_VAIN: Final = 1.0  # the same if they have not used it
_TRIES: Final = 5  # each takes what SQLite waits for the write lock, a second
_PAUSE: Final = 0.01  # seconds between them, lest an error that comes at once keep a processor busy


class Request:
    """A piece of work, what became of it, and what its caller waits on.

    Attributes:
        work: The work.
        since: The tick at which it was asked for.
        outcome: What became of it; None until that is known.
        waiter: Wakes the caller. Cancelling a task cancels what it waits on, so this carries no answer.
        patient: Whether it waits as long as another process holds the write lock.
        tells: Whether it brings news for those who listen.
        tries: How often it was tried while another process held the write lock.
    """

    __slots__ = ("outcome", "patient", "since", "tells", "tries", "waiter", "work")

    def __init__(self, work: Work, since: int, waiter: asyncio.Future[None], *, patient: bool, tells: bool) -> None:
        self.work = work
        self.since = since
        self.outcome: Outcome | None = None
        self.waiter = waiter
        self.patient = patient
        self.tells = tells
        self.tries = 0

    def hurry(self) -> None:
        """Wait for no other process any more."""
        self.patient = False
        self.tries = _TRIES


class Listener(NamedTuple):
    """Whoever is told of news.

    Attributes:
        ask: Says what nobody has heard of; called in the thread.
        put: Takes that; called on the event loop.
    """

    ask: Callable[[sqlite3.Connection], Sequence[Change]]
    put: Callable[[Iterable[Change]], None]


class Reports(Protocol):
    """What the thread says, on the event loop."""

    def delivered(self, batch: Sequence[Request], outcomes: Sequence[Outcome]) -> None:
        """What became of requests."""
        ...

    def over(self, error: StoreError) -> None:
        """Nothing more is taken."""
        ...

    def ended(self, error: BaseException | None) -> None:
        """The thread ends, by an error or because it was told to."""
        ...


def again(failure: ErrorT) -> ErrorT:
    """The same error, new for each caller: one object raised in several tasks would mix their tracebacks."""
    new = copy(failure)
    new.__cause__ = failure.__cause__
    return new


class WritingThread:
    """Owns the only writing connection of a store.

    Attributes:
        intake: What it is to do.
        broken: Why it touches the disk no more. The event loop sets this as well.
        held_up: How often another process was found to hold the write lock.
        listener: Who is told of news. The event loop sets this.

    Args:
        path: The database file, for errors and the size of its WAL.
        connect: Opens the connection; called in the thread.
        reports: Who is told, on the event loop.
        run_batch: Runs a batch in one transaction.
        may_checkpoint: Whether the WAL may be copied now; asked in the thread.
        holder: Who holds the write lock, as far as that is known; asked in the thread.
        give_way: Waits a moment for others who want to write; whether they have; called in the thread.
    """

    def __init__(
        self,
        path: Path,
        connect: Callable[[], sqlite3.Connection],
        reports: Reports,
        *,
        run_batch: RunBatch,
        may_checkpoint: Callable[[sqlite3.Connection], bool],
        holder: Callable[[], str],
        give_way: Callable[[], bool],
    ) -> None:
        self.intake: Intake[Request] = Intake()
        self.broken: StoreFailed | StoreLost | None = None
        self.held_up = 0
        self.listener: Listener | None = None
        self._path = path
        self._wal = f"{path}-wal"
        self._connect = connect
        self._reports = reports
        self._run_batch = run_batch
        self._may_checkpoint = may_checkpoint
        self._holder = holder
        self._give_way = give_way
        self._way_at = 0.0  # when it has to be given again
        self._done_at = 0.0  # when the last batch was done
        self._tried_at = 0  # how large the WAL was when it was copied the last time, and is still
        self._is_closing = False
        self._heard_at = 0.0
        self._version: object = None

    def start(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        """Start, and open the connection; the result is ready when that is done, or says why not."""
        self._loop = loop
        opened = loop.create_future()
        name = f"stagepost {self._path.name}"
        self._thread = threading.Thread(target=self._run, args=(opened,), name=name, daemon=True)
        self._thread.start()
        return opened

    def close(self) -> None:
        """Let it end when it has done what it was to do, as far as no other process holds that up."""
        self._is_closing = True
        self.intake.close()

    def join(self) -> None:
        """Wait until it has ended."""
        self._thread.join()

    def _run(self, opened: asyncio.Future[None]) -> None:
        try:
            connection = self._connect()
        except BaseException as error:  # noqa: BLE001  # it belongs to whoever opens the store
            self._call(opened.set_exception, error)
            self._call(self._reports.ended, None)
            return
        self._call(opened.set_result, None)
        died: BaseException | None = None
        try:
            with closing(connection):
                self._serve(connection)
        except BaseException as error:  # noqa: BLE001  # reported to all who wait
            died = error
        self._call(self._reports.ended, died)

    def _serve(self, connection: sqlite3.Connection) -> None:
        clean, rested, looked = True, 0.0, 0.0
        while True:
            timeout = self._timeout(clean=clean)
            try:
                batch = self.intake.take(timeout)
            except queue.Empty:
                rested += timeout or 0.0
                self._hear(connection)
                clean = clean or (rested >= _IDLE and self._shrink(connection))
                continue
            if not batch:
                self._shrink(connection, "TRUNCATE")
                return
            rested, since = 0.0, perf_counter()
            if since > self._way_at and since < self._done_at + _WAY:  # else there was a pause
                self._way_at = since + (_WAY if self._give_way() else _VAIN)
            if since - looked > _LOOK:
                self._look_for_files(connection)
                looked = since
            self._do(connection, batch, since)
            size = connection.files.wal_size if isinstance(connection, WritingConnection) else self._wal_size()
            clean = self._is_due(size) and self._shrink(connection)

    def _is_due(self, size: int) -> bool:
        """Whether to copy the WAL though there is more to do: it is large, and has grown since the last try."""
        if size <= LARGEST_WAL:
            self._tried_at = 0
            return False
        if self._tried_at and size - self._tried_at < LARGEST_WAL // 8:
            return False
        self._tried_at = size
        return True

    def _timeout(self, *, clean: bool) -> float | None:
        """How long to wait for requests before there is something else to do."""
        idle = None if clean else _IDLE
        return idle if self.listener is None else min(_HEAR, idle or _HEAR)

    def _do(self, connection: sqlite3.Connection, batch: Sequence[Request], since: float) -> None:
        outcomes = self._commit(connection, batch)
        self._done_at = now = perf_counter()
        self.intake.note_commit(now - since)
        listener = self.listener  # the event loop may take it away at any moment
        if listener is not None and any(request.tells for request in batch):
            self._tell(connection, listener)  # first, so that whoever has written it finds that it was told
        if any(outcome.error is not None and is_busy(outcome.error) for outcome in outcomes):
            self._put_off(batch, outcomes)
        else:
            self._call(self._reports.delivered, batch, outcomes)
        if listener is not None and now - self._heard_at > _HEAR:
            self._hear(connection)

    def _commit(self, connection: sqlite3.Connection, batch: Sequence[Request]) -> list[Outcome]:
        """Run a batch; after a fatal error nothing touches the disk any more.

        It counts only if the files are at their paths when it has been committed.
        """
        outcomes: list[Outcome] = []
        if self.broken is None:
            outcomes = self._run_batch(connection, [request.work for request in batch])
            self._look_for_files(connection, quickly=True)
        if self.broken is not None:
            return [Outcome(error=again(self.broken)) for _ in batch]
        final = next((outcome.error for outcome in outcomes if outcome.error and is_final(outcome.error)), None)
        if final is not None:
            self._end_with(final)
        return outcomes

    def _put_off(self, batch: Sequence[Request], outcomes: Sequence[Outcome]) -> None:
        """Another process holds the write lock: try again, also what has come meanwhile, but what has waited enough."""
        self.held_up += 1
        holder = self._holder()
        waiting, done = list[Request](), list[tuple[Request, Outcome]]()
        for request, outcome in (*zip(batch, outcomes, strict=True), *((each, None) for each in self.intake.drain())):
            request.tries += 1
            if outcome is not None and not (outcome.error is not None and is_busy(outcome.error)):
                done.append((request, outcome))
            elif self._is_closing or not (request.patient or request.tries < _TRIES):
                error = StoreLocked(self._path, holder, float(_TRIES), is_writing=True)
                done.append((request, Outcome(error=error)))
            else:
                waiting.append(request)
        self.intake.put_back(waiting)
        self._call(self._reports.delivered, *zip(*done, strict=True) if done else ((), ()))
        sleep(_PAUSE)

    def _hear(self, connection: sqlite3.Connection) -> None:
        """Look whether another process has written."""
        listener = self.listener
        if listener is None or self.broken is not None:
            return
        self._heard_at = perf_counter()
        try:
            version = connection.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:  # the next batch meets a failing disk itself
            return
        if version != self._version:
            self._version = version
            self._tell(connection, listener)

    def _tell(self, connection: sqlite3.Connection, listener: Listener) -> None:
        try:
            found = listener.ask(connection)
        except sqlite3.Error:  # likewise
            return
        if found:
            self._call(listener.put, found)

    def _look_for_files(self, connection: sqlite3.Connection, *, quickly: bool = False) -> None:
        gone = lost(connection, quickly=quickly) if self.broken is None else None
        if gone is not None:
            self.broken = gone
            self._call(self._reports.over, gone)

    def _end_with(self, error: Exception) -> None:
        """Take nothing more after an error of the disk; an owner that was taken over from is refused by itself."""
        if isinstance(error, StoreTakenOver):
            self._call(self._reports.over, error)
            return
        self.broken = StoreFailed(self._path, str(error))
        self.broken.__cause__ = error
        self._call(self._reports.over, self.broken)

    def _shrink(self, connection: sqlite3.Connection, mode: str = "PASSIVE") -> bool:
        """Copy the WAL into the database; always True, since a reader in the way only puts it off."""
        if self.broken is not None or lost(connection):  # if lost, the next batch is told
            return True
        try:
            if self._may_checkpoint(connection):
                copy_wal(connection, mode)
        except (sqlite3.Error, OSError):  # every commit is in the WAL, and the next batch meets a failing disk itself
            return True
        return True

    def _wal_size(self) -> int:
        try:
            return os.stat(self._wal).st_size  # noqa: PTH116  # after every batch, and half the time of a Path's
        except OSError:
            return 0

    def _call(self, function: Callable[..., object], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return
