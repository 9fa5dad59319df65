"""The single writer, as the event loop sees it: requests go to the writing thread, and its answers come back.

A caller that is cancelled still waits for its answer, so memory and disk never part. If no answer comes within the
limit, or the disk fails, the writer is broken: every waiting and every later request gets the same error, and only
reopening tells what was saved. A cancel scope and a timer for each request would cost as much as the rest of its way
here, so a scope is entered only by those who are cancelled, and one timer watches over the oldest request.

The limit is counted in ticks of that timer, not read from a clock. While the process is stopped, the machine asleep or
the loop held up, clocks go on and the disk may answer nobody; however long that takes, it is one tick. Nor do the ticks
count in which another process held the write lock: then the disk is asked nothing. A caller that is cancelled meanwhile
waits no longer, since nothing of its request is in the database.
"""

import asyncio
import math
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar, cast

import anyio

from ..errors import StoreClosed, StoreError, StoreFailed
from ._batch import Outcome, run_batch
from ._faults import ANOTHER_PROGRAM, translate
from ._thread import Listener, Request, RunBatch, WritingThread, again

T = TypeVar("T")

_TICK: Final = 1.0  # the longest tick, in seconds
_TICKS: Final = 30  # the fewest in a limit


def _nothing(_: sqlite3.Connection) -> None:
    """Work that is none, to wake the thread."""


class Writer:
    """Owns the only writing connection to a database.

    Args:
        path: The database file, for errors and the size of its WAL.
        connect: Opens the connection; called in the thread.
        run_batch: Runs a batch in one transaction; tests give their own to inject faults.
        may_checkpoint: Whether the WAL may be copied now; asked in the thread.
        holder: Who holds the write lock, as far as that is known; asked in the thread.
        give_way: Waits a moment for others who want to write; whether they have; called in the thread.
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
        holder: Callable[[], str] = lambda: ANOTHER_PROGRAM,
        give_way: Callable[[], bool] = lambda: True,
        limit: float = 30.0,
        backlog: int = 10_000,
    ) -> None:
        self._path = path
        self._thread = WritingThread(
            path,
            connect,
            self,
            run_batch=run_batch,
            may_checkpoint=may_checkpoint,
            holder=holder,
            give_way=give_way,
        )
        self._limit = limit
        self._tick = min(_TICK, limit / _TICKS)
        self._ticks = 0
        self._excused = 0  # the last tick in which another process held the write lock
        self._held_up = 0  # how often the thread had found that by then
        self._backlog = backlog
        self._pending: dict[Request, None] = {}  # the oldest first
        self._watch: asyncio.TimerHandle | None = None
        self._room: anyio.Event | None = None  # made by the first who waits for it
        self._over: StoreError | None = None  # why nothing more is taken
        self._ending = anyio.Event()  # set with it
        self._closed = False
        self._end: asyncio.Future[None] | None = None

    async def start(self) -> None:
        """Start the thread and open the connection in it; raises what opening raised."""
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.create_future()
        with anyio.CancelScope(shield=True):
            await self._thread.start(self._loop)

    async def listen(self, listener: Listener) -> None:
        """From now on tell of whatever is written for runs, by this process or another one."""
        self._thread.listener = listener
        await self.write(_nothing, tells=True)

    def stop_listening(self) -> None:
        """Tell nobody any more."""
        self._thread.listener = None

    async def write(self, work: Callable[[sqlite3.Connection], T], *, patient: bool = True, tells: bool = False) -> T:
        """Run `work` in a transaction and wait until it is committed.

        Args:
            work: It.
            patient: Whether to wait as long as another process holds the write lock.
            tells: Whether it brings news for those who listen.

        Raises:
            StoreClosed: The writer is closed.
            StoreFailed: The disk has failed or is silent.
            StoreLocked: Another process holds the write lock, and the caller does not wait any longer.
        """
        while len(self._pending) >= self._backlog and not self._thread.broken:
            await self._has_room()
        if self._thread.broken is not None or self._closed:
            raise self._refusal()
        request = Request(work, self._ticks, self._loop.create_future(), patient=patient, tells=tells)
        self._pending[request] = None
        self._thread.intake.put(request)
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
        return again(cast("StoreError", self._over))

    async def close(self) -> None:
        """Commit what is queued, checkpoint the WAL, close the connection, end the thread."""
        self._closed = True
        self.over(StoreClosed(str(self._path)))
        if self._end is None:
            return
        self._thread.close()
        if self._watch is not None:
            self._watch.cancel()
        with anyio.CancelScope(shield=True):
            for _ in range(self._patience):
                if self._end.done():
                    self._thread.join()
                    return
                await asyncio.wait([self._end], timeout=self._tick)

    @property
    def _patience(self) -> int:
        """The limit, in ticks."""
        return math.ceil(self._limit / self._tick)

    async def _outlast(self, request: Request) -> None:
        """Wait on for an answer, though cancelled; the cancellation comes again at the caller's next checkpoint."""
        task = asyncio.current_task()
        by_scope = anyio.current_effective_deadline() == -math.inf
        request.hurry()
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
        broken = self._thread.broken
        return StoreClosed(str(self._path)) if broken is None else again(broken)

    # what the thread reports

    def delivered(self, batch: Sequence[Request], outcomes: Sequence[Outcome]) -> None:
        """What became of requests."""
        for request, outcome in zip(batch, outcomes, strict=True):
            self._answer(request, outcome)
        self._make_room()

    def over(self, error: StoreError) -> None:
        """Nothing more is taken: tell those who wait for that."""
        self._over = self._over or error
        self._ending.set()

    def ended(self, error: BaseException | None) -> None:
        """The thread ends."""
        if error is not None:
            self._break(StoreFailed(self._path, f"the writing thread died: {error!r}"))
        cast("asyncio.Future[None]", self._end).set_result(None)

    def _make_room(self) -> None:
        if self._room is not None:
            self._room.set()
            self._room = None

    def _answer(self, request: Request, outcome: Outcome) -> None:
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
        if self._thread.held_up != self._held_up:
            self._held_up, self._excused = self._thread.held_up, self._ticks
        oldest = next(iter(self._pending), None)
        if oldest is None:
            return
        if self._ticks - max(oldest.since, self._excused) >= self._patience:
            self._break(StoreFailed(self._path, f"no answer from the disk within {self._limit:g} s"))
        else:
            self._watch = self._loop.call_later(self._tick, self._look)

    def _break(self, error: StoreFailed) -> None:
        """Answer everybody who waits, since nobody knows what will still be saved."""
        self._thread.broken = broken = self._thread.broken or error
        self.over(broken)
        for request in tuple(self._pending):
            self._answer(request, Outcome(error=again(broken)))
        self._make_room()
