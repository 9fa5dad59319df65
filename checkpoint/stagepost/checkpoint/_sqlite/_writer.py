"""The single writer: one thread, one connection, natural group commit.

Whatever has queued up while a batch was being committed becomes the next batch: a lone run pays one thread hop, a
hundred runs share one fsync. The thread alone checkpoints the WAL, when it has nothing else to do or the WAL is large.

A caller that is cancelled still waits for its answer, so memory and disk never part. If no answer comes within the
limit, or the disk fails, the writer is broken: every waiting and every later request gets the same error, and only
reopening tells what was saved. A cancel scope and a timer for each request would cost as much as the rest of its way
here, so a scope is entered only by those who are cancelled, and one timer watches over the oldest request.

The limit is counted in ticks of that timer, not read from a clock. While the process is stopped, the machine asleep or
the loop held up, clocks go on and the disk may answer nobody; however long that takes, it is one tick.
"""

import asyncio
import math
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from copy import copy
from pathlib import Path
from time import perf_counter
from typing import Final, TypeAlias, TypeVar, cast

import anyio

from .._ownership import Change
from ..errors import StoreClosed, StoreError, StoreFailed, StoreLost, StoreTakenOver
from ._batch import Outcome, Work, is_final, run_batch
from ._connect import LARGEST_WAL
from ._faults import translate
from ._generation import OwnedConnection, copy_wal, lost
from ._intake import Intake

T = TypeVar("T")
ErrorT = TypeVar("ErrorT", bound=StoreError)
Ask: TypeAlias = Callable[[sqlite3.Connection], Sequence[Change]]
RunBatch: TypeAlias = Callable[[sqlite3.Connection, Sequence[Work]], list[Outcome]]

_IDLE: Final = 0.5  # seconds without a request before the WAL is checkpointed
_TICK: Final = 1.0  # the longest tick, in seconds
_TICKS: Final = 30  # the fewest in a limit
_LOOK: Final = 0.05  # seconds after which all files are looked at again before a batch


class _Request:
    """A piece of work, what became of it, and what its caller waits on.

    Attributes:
        work: The work.
        since: The tick at which it was asked for.
        outcome: What became of it; None until that is known.
        waiter: Wakes the caller. Cancelling a task cancels what it waits on, so this carries no answer.
        patient: Whether it waits as long as another process holds the write lock.
        tells: Whether whoever listens has to hear of it.
    """

    __slots__ = ("outcome", "patient", "since", "tells", "waiter", "work")

    def __init__(
        self, work: Work, since: int, waiter: asyncio.Future[None], *, patient: bool = True, tells: bool = False
    ) -> None:
        self.work = work
        self.patient = patient
        self.tells = tells
        self.since = since
        self.outcome: Outcome | None = None
        self.waiter = waiter


def _nothing(_: sqlite3.Connection) -> None:
    """Work that is none, to wake the thread."""


def _again(failure: ErrorT) -> ErrorT:
    """The same error, new for each caller: one object raised in several tasks would mix their tracebacks."""
    again = copy(failure)
    again.__cause__ = failure.__cause__
    return again


class Writer:
    """Owns the only writing connection to a database.

    Args:
        path: The database file, for errors and the size of its WAL.
        connect: Opens the connection; called in the thread.
        run_batch: Runs a batch in one transaction; tests give their own to inject faults.
        may_checkpoint: Whether the WAL may be copied now; asked in the thread.
        limit: Seconds that a caller waits for an answer before the store counts as failed.
        backlog: How many requests may wait; more wait outside.
    """

    def __init__(
        self,
        path: Path,
        connect: Callable[[], sqlite3.Connection],
        *,
        run_batch: RunBatch = run_batch,
        may_checkpoint: Callable[[sqlite3.Connection], bool] = lambda _: True,
        limit: float = 30.0,
        backlog: int = 10_000,
    ) -> None:
        self._path = path
        self._wal = f"{path}-wal"
        self._connect = connect
        self._run_batch = run_batch
        self._may_checkpoint = may_checkpoint
        self._limit = limit
        self._tick = min(_TICK, limit / _TICKS)
        self._ticks = 0
        self._backlog = backlog
        self._intake: Intake[_Request] = Intake()
        self._pending: dict[_Request, None] = {}  # the oldest first
        self._watch: asyncio.TimerHandle | None = None
        self._room: anyio.Event | None = None  # made by the first who waits for it
        self._broken: StoreFailed | StoreLost | None = None
        self._over: StoreError | None = None  # why nothing more is taken
        self._ending = anyio.Event()  # set with it
        self._closed = False
        self._listener: tuple[Ask, Callable[[Iterable[Change]], None]] | None = None
        self._thread: threading.Thread | None = None

    async def start(self) -> None:
        """Start the thread and open the connection in it; raises what opening raised."""
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        opened = self._loop.create_future()
        self._thread = threading.Thread(
            target=self._run, args=(opened,), name=f"stagepost {self._path.name}", daemon=True
        )
        self._thread.start()
        with anyio.CancelScope(shield=True):
            await opened

    async def listen(self, ask: Ask, put: Callable[[Iterable[Change]], None]) -> None:
        """From now on put whatever is written for runs, by this process or another one.

        Args:
            ask: Says what nobody has heard of; called in the thread.
            put: Takes it; called on the event loop.
        """
        self._listener = (ask, put)
        await self.write(_nothing, tells=True)

    async def write(self, work: Callable[[sqlite3.Connection], T], *, patient: bool = True, tells: bool = False) -> T:
        """Run `work` in a transaction and wait until it is committed.

        Args:
            work: It.
            patient: Whether to wait as long as another process holds the write lock.
            tells: Whether whoever listens has to hear of it.

        Raises:
            StoreClosed: The writer is closed.
            StoreFailed: The disk has failed or is silent.
        """
        while len(self._pending) >= self._backlog and not self._broken:
            await self._has_room()
        if self._broken is not None or self._closed:
            raise self._refusal()
        request = _Request(work, self._ticks, self._loop.create_future(), patient=patient, tells=tells)
        self._pending[request] = None
        self._intake.put(request)
        if self._watch is None:
            self._watch = self._loop.call_later(self._tick, self._look)
        try:
            await request.waiter
        except asyncio.CancelledError:
            await self._outlast(request)
        outcome = cast("Outcome", request.outcome)
        if outcome.error is not None:
            raise translate(outcome.error, self._path)
        return cast("T", outcome.result)

    async def failure(self) -> StoreError:
        """Wait until nothing more is taken, for good, and say why."""
        await self._ending.wait()
        return _again(cast("StoreError", self._over))

    async def close(self) -> None:
        """Commit what is queued, checkpoint the WAL, close the connection, end the thread."""
        self._closed = True
        self._note_end(StoreClosed(str(self._path)))
        if self._thread is None:
            return
        self._intake.close()
        if self._watch is not None:
            self._watch.cancel()
        with anyio.CancelScope(shield=True):
            for _ in range(self._patience):
                if self._ended.done():
                    self._thread.join()
                    return
                await asyncio.wait([self._ended], timeout=self._tick)

    @property
    def _patience(self) -> int:
        """The limit, in ticks."""
        return math.ceil(self._limit / self._tick)

    async def _outlast(self, request: _Request) -> None:
        """Wait on for an answer, though cancelled; the cancellation comes again at the caller's next checkpoint."""
        task = asyncio.current_task()
        by_scope = anyio.current_effective_deadline() == -math.inf
        while request.outcome is None:
            request.waiter = self._loop.create_future()
            with anyio.CancelScope(shield=True):
                try:
                    await request.waiter
                except asyncio.CancelledError:  # by asyncio's own means, which know no shield
                    by_scope = False
        if not by_scope and task is not None:
            task.uncancel()
            task.cancel()  # those do not come again by themselves

    async def _has_room(self) -> None:
        if self._room is None:
            self._room = anyio.Event()
        await self._room.wait()

    def _refusal(self) -> StoreError:
        return StoreClosed(str(self._path)) if self._broken is None else _again(self._broken)

    # on the event loop, called by the thread

    def _deliver(self, batch: Sequence[_Request], outcomes: Sequence[Outcome]) -> None:
        for request, outcome in zip(batch, outcomes, strict=True):
            self._answer(request, outcome)
        self._make_room()

    def _make_room(self) -> None:
        if self._room is not None:
            self._room.set()
            self._room = None

    def _answer(self, request: _Request, outcome: Outcome) -> None:
        self._pending.pop(request, None)
        if request.outcome is not None:  # it was answered when the writer broke
            return
        request.outcome = outcome
        if not request.waiter.done():
            request.waiter.set_result(None)

    def _look(self) -> None:
        """Count a tick, see whether the oldest request has waited for too many, and look again at the next one."""
        self._watch = None
        self._ticks += 1
        oldest = next(iter(self._pending), None)
        if oldest is None:
            return
        if self._ticks - oldest.since >= self._patience:
            self._break(StoreFailed(self._path, f"no answer from the disk within {self._limit:g} s"))
        else:
            self._watch = self._loop.call_later(self._tick, self._look)

    def _note_end(self, error: StoreError) -> None:
        """Nothing more is taken: tell those who wait for that."""
        self._over = self._over or error
        self._ending.set()

    def _break(self, error: StoreFailed) -> None:
        """Answer everybody who waits, since nobody knows what will still be saved."""
        self._broken = self._broken or error
        self._note_end(self._broken)
        for request in tuple(self._pending):
            self._answer(request, Outcome(error=_again(self._broken)))
        self._make_room()

    def _end(self, error: BaseException | None) -> None:
        if error is not None:
            self._break(StoreFailed(self._path, f"the writing thread died: {error!r}"))
        self._ended.set_result(None)

    # in the thread

    def _run(self, opened: asyncio.Future[None]) -> None:
        try:
            connection = self._connect()
        except BaseException as error:  # noqa: BLE001  # it belongs to whoever opens the store
            self._call(opened.set_exception, error)
            self._call(self._end, None)
            return
        self._call(opened.set_result, None)
        died: BaseException | None = None
        try:
            with closing(connection):
                self._serve(connection)
        except BaseException as error:  # noqa: BLE001  # reported to all who wait
            died = error
        self._call(self._end, died)

    def _serve(self, connection: sqlite3.Connection) -> None:
        clean, looked = True, -math.inf
        while True:
            try:
                batch = self._intake.take(None if clean else _IDLE)
            except queue.Empty:
                clean = self._shrink(connection)
                continue
            if not batch:
                self._shrink(connection, "TRUNCATE")
                return
            since = perf_counter()
            if since - looked > _LOOK:
                self._look_for_files(connection)
                looked = since
            outcomes = self._commit(connection, batch)
            self._intake.note_commit(perf_counter() - since)
            self._call(self._deliver, batch, outcomes)
            if self._listener is not None and any(request.tells for request in batch):
                self._tell(connection, *self._listener)
            size = connection.files.wal_size if isinstance(connection, OwnedConnection) else self._wal_size()
            clean = size > LARGEST_WAL and self._shrink(connection)

    def _tell(self, connection: sqlite3.Connection, ask: Ask, put: Callable[[Iterable[Change]], None]) -> None:
        """Look for what nobody has heard of."""
        try:
            found = ask(connection)
        except sqlite3.Error:  # the next batch meets a failing disk itself
            return
        if found:
            self._call(put, found)

    def _commit(self, connection: sqlite3.Connection, batch: Sequence[_Request]) -> list[Outcome]:
        """Run a batch; after a fatal error nothing touches the disk any more.

        It counts only if the files are at their paths when it has been committed.
        """
        outcomes: list[Outcome] = []
        if self._broken is None:
            outcomes = self._run_batch(connection, [request.work for request in batch])
            self._look_for_files(connection, quickly=True)
        if self._broken is not None:
            return [Outcome(error=_again(self._broken)) for _ in batch]
        final = next((outcome.error for outcome in outcomes if outcome.error and is_final(outcome.error)), None)
        if final is not None:
            self._end_with(final)
        return outcomes

    def _look_for_files(self, connection: sqlite3.Connection, *, quickly: bool = False) -> None:
        gone = lost(connection, quickly=quickly) if self._broken is None else None
        if gone is not None:
            self._broken = gone
            self._call(self._note_end, gone)

    def _end_with(self, error: Exception) -> None:
        """Take nothing more behind an error of the disk; an owner that was taken over from is refused by itself."""
        if isinstance(error, StoreTakenOver):
            self._call(self._note_end, error)
            return
        self._broken = StoreFailed(self._path, str(error))
        self._broken.__cause__ = error
        self._call(self._note_end, self._broken)

    def _shrink(self, connection: sqlite3.Connection, mode: str = "PASSIVE") -> bool:
        """Copy the WAL into the database; always True, since a reader in the way only puts it off."""
        if self._broken is not None or lost(connection):  # if lost, the next batch is told
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
