"""A reader of a run's stream."""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from types import TracebackType
from typing import Any, Final, Protocol, Self

from anyio import ResourceGuard

from stagepost.checkpoint import (
    Frame,
    FrozenList,
    JsonValue,
    Keep,
    RunInfo,
    RunNotFound,
    RunStatus,
    Snapshot,
    Version,
    read_frozen,
)

from .._listening._listening import Listening
from .._listening._saved import Saved, SavedItem
from .._listening._told import Told
from ..errors import RunLeftOpen
from ._cursor import Cursor, check_cursor, read_cursor
from ._parts import RunOver, RunPart
from ._telling import Telling, between

_PAGE: Final = 500  # elements of a list that are read at once


class Past(Protocol):
    """What is stored of a run beside where it stands now."""

    def versions(self, run_id: str, after: int) -> AsyncIterator[Version]:
        """The versions that its root frame had, from a number of the frame on, if it keeps them."""
        ...

    def lists(self, snapshot: Snapshot) -> Collection[str]:
        """Keys of its state whose lists only grow."""
        ...


class RunStream:
    """The stream of a run: an async context manager, and in it an async iterator of parts.

    ::

        async with runner.stream(run_id, after=cursor) as stream:
            async for part in stream:
                print(part.to_dict())

    It begins with the state as it is (`StateShown`), or, after a cursor, with what has come since. Then it tells each
    commit of the run's own steps (`StepSaved`), what steps tell while they work (`StepTold`), waits (`WaitBegan`,
    `WaitOver`), ended items of fan-outs (`ItemOver`), and at last the end (`RunOver`), after which it ends.

    - Who comes back with a cursor after some commits gets the state, which says how many these were. Of a run that
      keeps its history (``keep="all"``) each commit is told once, however often the reader comes back.
    - What is not a commit of the run's own has the cursor of the commit before it, and is told again, as far as it
      still is so, to who comes back with that: open waits and ended items are.
    - A slow reader keeps nobody waiting, and misses only what steps have told (`ToldMissed`). Of more than 1,000
      commits it has not read it gets the state instead.
    - Leaving the block early, or being cancelled in it, does not touch a stored run, and cancels one in memory. Any
      number of readers may read a stored run at once.

    Args:
        listening: Listens to the run, and is told its commits.
        after: Where to go on, as `RunPart.cursor`; None to begin.
        outcome: Gives the final state once the run has ended, or raises why there is none.
        past: Reads earlier versions; None if there are none.

    Attributes:
        run_id: The run.
        cursor: That of the last part that was handed out; None before the first, if none was given.

    Raises:
        CursorRefused: The cursor is none of this run's stream (on reading, or at once if it is no cursor at all).
    """

    def __init__(
        self,
        listening: Listening,
        after: str | None,
        *,
        outcome: Callable[[], Awaitable[Any]],
        past: Past | None = None,
    ) -> None:
        self.run_id = listening.run_id
        self.cursor = after
        self._listening = listening
        self._after = None if after is None else read_cursor(self.run_id, after)
        self._telling = Telling(self.run_id, self._after)
        self._outcome = outcome
        self._past = past
        self._ready: deque[RunPart] = deque()
        self._heard: deque[Told] = deque()
        self._must_look = False
        self._guard = ResourceGuard("reading from")
        self._is_entered = False
        self._has_begun = False
        self._epoch = 1
        self._is_over = False
        self._result: tuple[Any, Exception | None] | None = None

    async def __aenter__(self) -> Self:
        if self._is_entered:
            raise RuntimeError("a stream is entered once: make another one")
        self._is_entered = True
        self._listening.__enter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.__exit__(kind, error, trace)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RunPart:
        """The next part.

        Raises:
            StopAsyncIteration: The run has ended.
            RunNotFound: There is none.
            RunLeftOpen: Nobody can go on with the run.
            RunnerStopped: The runner was left.
            CheckpointError: The store takes nothing more, or a commit failed.
            RuntimeError: The stream is not open.
            anyio.BusyResourceError: Another task reads this stream: each needs a stream of its own.
        """
        if not self._is_entered:
            raise RuntimeError("the stream is not open: enter its block first (`async with … as stream`)")
        while not self._ready:
            if self._is_over:
                raise StopAsyncIteration
            with self._guard:
                await self._hear()
        part = self._ready.popleft()
        self.cursor = part.cursor
        return part

    @property
    def result(self) -> Any:
        """The final state, as `Run.result` gives it; once the stream has ended.

        Raises:
            RuntimeError: The stream has not ended.
            RunFailed: The run has failed; in memory the error itself.
            RunCancelled: Somebody has cancelled it.
        """
        if self._result is None:
            raise RuntimeError(f"the stream of run {self.run_id!r} has not ended: read it to its end first")
        state, error = self._result
        if error is not None:
            raise error.with_traceback(None)
        return state

    # hearing: whoever is cancelled on the way goes on where that was, and loses nothing

    async def _hear(self) -> None:
        """Take in what has come."""
        if not (self._heard or self._must_look):
            heard = await self._listening.next()
            self._heard.extend(heard.told)
            self._must_look = heard.rung
            if heard.missed:
                self._ready.append(self._telling.missed(heard.missed))
        while self._heard:
            await self._take(self._heard[0])
            self._heard.popleft()
        if self._must_look:
            await self._look()
            self._must_look = False

    async def _take(self, told: Told) -> None:
        saved = told.what
        if isinstance(saved, SavedItem):
            if self._has_begun and (part := self._telling.ended(saved)) is not None:
                self._ready.append(part)
        elif not isinstance(saved, Saved):
            self._ready.append(self._telling.told(told))
        elif saved.step is None:
            if self._after is None and not self._has_begun:
                self._has_begun = True
                self._ready.append(self._telling.begun(saved))
        elif self._has_begun:  # else nothing is known that it could follow
            if self._telling.misses(saved):
                await self._catch_up(await self._listening.source.snapshot(self.run_id))
            if (step := self._telling.saved(saved)) is not None:
                self._ready.append(step)

    async def _look(self) -> None:
        """Read what is stored now."""
        try:
            snapshot = await self._listening.source.snapshot(self.run_id)
        except RunNotFound:
            if not self._has_begun:
                raise
            await self._vanish()
            return
        if not self._has_begun:
            await self._begin(snapshot)
            self._has_begun = True
        elif self._is_behind(snapshot):
            await self._catch_up(snapshot)
        self._epoch = snapshot.run.epoch
        if snapshot.root.seq == self._telling.seq:  # else commits come first that are still to be told, and they ring
            self._ready.extend(self._telling.rest(snapshot))
            if not snapshot.run.status.is_open:
                await self._end(snapshot.run)

    def _is_behind(self, snapshot: Snapshot) -> bool:
        """Whether there were commits that will not be told: all those that are made here are, sooner or later."""
        is_up_to_date = snapshot.root.seq <= self._telling.seq
        return not (is_up_to_date or self._listening.is_live) and self._listening.buffer.is_empty

    async def _begin(self, snapshot: Snapshot) -> None:
        run, root = snapshot.run, snapshot.root
        if self._after is not None:
            check_cursor(snapshot, self._after)
        if self._telling.seq < root.seq:
            await self._catch_up(snapshot)
        else:
            self._telling.next = root.next
        if run.blocked is not None and run.status is RunStatus.RUNNING:
            self._listening.end(RunLeftOpen(self.run_id, run.blocked))

    async def _end(self, run: RunInfo) -> None:
        """The run has ended."""
        over = None
        if Cursor(self._telling.seq, run.epoch) != self._after:
            over = self._telling.end(run.status, run.error, run.epoch, run.finished_at)
        await self._finish(over)

    async def _vanish(self) -> None:
        """A run has ended of which nothing is kept."""
        if self._listening.is_live or not self._listening.buffer.is_empty:
            return
        status = RunStatus.COMPLETED if self._telling.next is None else RunStatus.CANCELLED
        await self._finish(self._telling.end(status, None, self._epoch))

    async def _finish(self, over: RunOver | None) -> None:
        try:
            self._result = await self._outcome(), None
        except Exception as error:  # noqa: BLE001  # raised to whoever asks for the result
            self._result = None, error
        if over is not None:
            self._ready.append(over)
        self._is_over = True

    # catching up

    async def _catch_up(self, snapshot: Snapshot) -> None:
        """Tell the commits that the reader does not know: one by one, if they are kept, or else the state."""
        if self._past is not None and snapshot.run.keep is Keep.ALL:
            await self._tell_past(self._past, snapshot)
        if snapshot.root.seq > self._telling.seq:
            frame, state = await self._state(snapshot)
            at = snapshot.saved_at.get("") or snapshot.run.created_at
            self._ready.append(self._telling.state(frame, state, at))

    async def _tell_past(self, past: Past, snapshot: Snapshot) -> None:
        before: Frame | None = None
        lists = past.lists(snapshot)
        async for version in past.versions(self.run_id, self._telling.seq):
            frame = version.frame
            if before is not None and self._telling.seq == before.seq:
                part: RunPart | None = self._telling.saved(between(before, version, lists))
            elif frame.seq > self._telling.seq:
                state = {key: read_frozen(data) for key, data in frame.state.items()}
                part = self._telling.state(frame, state, version.saved_at)
            else:
                part = None
            before = frame
            if part is not None:
                self._ready.append(part)

    async def _state(self, snapshot: Snapshot) -> tuple[Frame, Mapping[str, JsonValue]]:
        """The state with its lists, which may have been replaced since the snapshot was made: then as it is now."""
        while True:
            frame = snapshot.root
            state = {key: read_frozen(data) for key, data in frame.state.items()}
            lengths = {key: ref.length for key, ref in frame.refs.items() if ref.length is not None}
            lists = {key: await self._list(key, length) for key, length in lengths.items()}
            if all(len(lists[key]) == length for key, length in lengths.items()):
                return frame, {**state, **lists}
            snapshot = await self._listening.source.snapshot(self.run_id)

    async def _list(self, key: str, length: int) -> FrozenList:
        """The first elements of a list; fewer, if there are not so many any more."""
        found = list[JsonValue]()
        while len(found) < length:
            limit = min(_PAGE, length - len(found))
            page = await self._listening.source.elements(self.run_id, key, len(found), limit)
            found += map(read_frozen, page.items)
            if not page.items:
                break
        return FrozenList(found)
