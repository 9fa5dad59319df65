"""The stream of a task, as its reader holds it."""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from functools import cache
from types import TracebackType
from typing import Final, Generic, NamedTuple, Self, TypeAlias, TypeVar, cast

import anyio
from anyio import ResourceGuard
from anyio.lowlevel import checkpoint

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import RunNotFound
from stagepost.workflows import Listening, Told

from .._delegation._result import AgentResult
from ..errors import InvalidCursor, StreamNotOver
from ._choice import Choice
from ._merging import Merging
from ._part import StreamPart
from ._partial import FormOf, Partials
from ._position import Cursor
from ._read import Batch, read
from ._source import LoopOf
from ._telling import LONGEST
from ._text import Spoken
from ._unkept import unkept_end

OutputT_co = TypeVar("OutputT_co", covariant=True)

_AT_ONCE: Final = 100  # parts handed out before other tasks get their turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing(Generic[OutputT_co]):
    """What a stream listens to.

    Attributes:
        task_id: The task.
        name: Name of its agent.
        listening: Who listens to it.
        loop_of: Finds the loops of the agents.
        form_of: Says how agents answer.
        clock: Seconds since 1970.
        mask: Puts stars in the place of secrets.
        result: Waits for the end of the run, and says how to make its result, which takes as long as its transcript.
        left_with: Why nobody here goes on with the run, though it is open; None if somebody does.
    """

    task_id: str
    name: str
    listening: Listening
    loop_of: LoopOf
    form_of: FormOf
    clock: Callable[[], float]
    mask: Callable[[str], str] | None
    result: Callable[[], Awaitable[Callable[[], AgentResult[OutputT_co]]]]
    left_with: Callable[[], BaseException | None]


Opening: TypeAlias = Callable[[], AbstractAsyncContextManager[Hearing[OutputT_co]]]
"""Begins to listen, for as long as a block lasts."""


class _Made(NamedTuple):
    """What was made of a read and of what was told.

    Attributes:
        merging: The state after it; nobody changes it.
        parts: The parts.
        kept: What it was made of, by whose ids it is found.
    """

    merging: Merging
    parts: Sequence[StreamPart]
    kept: object


class TaskStream(Generic[OutputT_co]):
    """The parts of an agent's run, as they come: an async context manager, and in its block an async iterator.

    ::

        async with tasks.stream("trip-42", after=cursor) as stream:
            async for part in stream:
                match part:
                    case TokenArrived(token=text, kind="text"): ...
                    case ToolCalled(phrase=phrase): ...
        print(stream.result.output)

    Numbered parts are what is committed: requests, answers, calls and their results, approvals, questions, the end. A
    reader that comes back with the `cursor` gets all that follow it, each once, however often it or the service was
    restarted meanwhile. The last part is `TaskCompleted`, `TaskFailed` or `TaskCancelled`; then the iteration ends.

    The others are told while the run works: `TurnBegan`, `TokenArrived`, `PartialOutput`, `ToolProgressed`,
    `Compacted`, `Gap`. They stand before the numbered part that they become. A token with index 0 starts its answer
    anew: tokens that were told of this turn before are void, since the model is asked again. Who joins in the middle
    of an answer gets its text so far as one token, if somebody has listened since it began; else no token of it, but
    the message. A reader that is too slow loses some of these parts, and none of the numbered ones; `Gap` says which
    tokens are missing. The message that follows has all of the text.

    Any number of readers may have streams of one task, and none of them keeps the run or another reader waiting. One
    task reads a stream at a time. Where a stream says how it was made (`Agent.stream`, `Tasks.stream`), it says what
    leaving its block early does.

    Args:
        opening: Begins to listen.
        choice: What the reader wants to get.
        after: The cursor after which it goes on; None for all.
    """

    def __init__(self, opening: Opening[OutputT_co], choice: Choice, after: str | None = None) -> None:
        self._opening = opening
        self._choice = choice
        self._takes_all = choice.is_all
        self._longest = None if choice.whole_results else LONGEST
        self._after = self._cursor = after
        self._known: Cursor | None = None
        self._block: AbstractAsyncContextManager[Hearing[OutputT_co]] | None = None
        self._hearing: Hearing[OutputT_co] | None = None
        self._merging: Merging | None = None
        self._ready: deque[StreamPart] = deque()
        self._guard = ResourceGuard("reading from")
        self._told: list[Told] = []
        self._given = self._missed = 0
        self._is_stale = self._has_read = self._is_over = False
        self._outcome: Callable[[], AgentResult[OutputT_co]] | BaseException | None = None

    @property
    def task_id(self) -> str:
        """The task; of one that is started by the stream once its block is entered."""
        return self._entered.task_id

    @property
    def cursor(self) -> str | None:
        """What to come back with, to get what follows the last part that was handed out; None before the first one."""
        return self._cursor

    @property
    def result(self) -> AgentResult[OutputT_co]:
        """What the run has come to, once its last part was handed out; also after the block.

        Raises:
            StreamNotOver: The last part was not handed out yet.
            AgentError: The run in memory has failed, as `Agent.run` would raise it.
            RunFailed: The task has failed.
            RunCancelled: Somebody has cancelled the task.
            RunDead: Its process died with it too often.
        """
        if self._outcome is None or self._ready:
            raise StreamNotOver(None if self._hearing is None else self._hearing.task_id)
        if isinstance(self._outcome, BaseException):
            raise self._outcome.with_traceback(None)
        return self._outcome()

    async def __aenter__(self) -> Self:
        """Begin to listen, and with a stream that starts a run, start it.

        Raises:
            RunNotFound: There is no such task.
            NotAnAgent: The run belongs to a workflow that is not an agent.
            RuntimeError: The stream was entered before.
        """
        if self._block is not None:
            raise RuntimeError("a stream is entered once: make another one")
        self._block = self._opening()
        hearing = self._hearing = await self._block.__aenter__()
        partials = Partials(hearing.form_of) if self._choice.partial else None
        self._merging = Merging(hearing.task_id, hearing.clock, partials)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._block is not None  # noqa: S101  # it was entered
        if isinstance(error, anyio.get_cancelled_exc_class()):  # it may be that of a task group in there
            return await self._block.__aexit__(kind, error, trace)
        await self._block.__aexit__(None, None, None)  # any other error passes by task groups, which would wrap it
        return None

    def text(self) -> AsyncIterator[str]:
        """The text of the agent's answers, piece by piece as it arrives; all other parts are passed over.

        Of an answer whose tokens were not told, or not all of them, it has the message as a whole. What a model says
        anew, as it is asked again, follows what is void: read the parts where that matters.
        """
        return Spoken(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamPart:
        """The next part; cancelling this loses nothing.

        Raises:
            StopAsyncIteration: The last one was handed out.
            InvalidCursor: What the reader came with is no cursor of this task.
            RunNotHeld: The run is open, but this runner does not work on it; all that is stored of it was handed out.
            RunnerStopped: The runner was left.
            CheckpointError: A commit failed, or the store takes nothing more.
            anyio.BusyResourceError: Another task reads this stream: each needs a stream of its own.
        """
        while True:
            if self._given >= _AT_ONCE:
                await checkpoint()
                self._given = 0
            while self._ready:
                part = self._ready.popleft()
                self._given += 1
                if part.cursor is not None:
                    self._cursor = part.cursor
                chosen = part if self._takes_all else self._choice.of(part)
                if chosen is not None:
                    return chosen
            if self._is_over:
                raise StopAsyncIteration
            with self._guard:
                await self._go_on()

    async def _go_on(self) -> None:
        """Read what is stored, or hear what is told."""
        if self._is_stale:
            await self._read()
            return
        hearing = self._entered
        is_waiting = self._has_read and hearing.listening.buffer.is_empty
        if is_waiting and (why := hearing.left_with()) is not None:
            raise why.with_traceback(None)
        if is_waiting:
            await hearing.listening.ready(self._key, self._next_batch)
        heard = await hearing.listening.next()
        self._given = 0
        self._told += heard.told
        self._missed += heard.missed
        self._is_stale = heard.rung or not self._has_read
        if self._is_stale:
            await self._read()
        else:
            self._ready.extend(self._own_merging().flush())

    async def _read(self) -> None:
        """Read what follows, and put what was told meanwhile in its place."""
        listening = self._entered.listening
        rings = listening.rings
        try:
            batch = await (self._next_batch() if listening.is_alone else self._batch())
        except RunNotFound as error:
            await self._end_unread(error)
            return
        is_current = listening.rings == rings
        if batch.is_over and self._outcome is None:
            self._outcome = await self._come_to()
        self._after, self._known, self._is_over = batch.cursor, batch.known, batch.is_over
        if batch.has_more:
            self._ready.extend(self._own_merging().read(batch.parts, None))
            return
        later: list[Told] = []
        self._has_read, self._is_stale = True, False
        buffer = listening.buffer
        while not buffer.is_empty:
            heard = buffer.take()
            self._missed += heard.missed
            if self._is_stale:
                later += heard.told
            else:
                self._told += heard.told
                self._is_stale = heard.rung and not is_current
        self._merge(batch, later)

    def _merge(self, batch: Batch, later: Sequence[Told]) -> None:
        """Put what was told among the parts of a read; whoever has been told the same shares what comes of it."""
        merging, listening = self._merged, self._entered.listening
        if listening.is_alone or not merging.may_share:
            self._ready.extend(self._own_merging().read(batch.parts, batch.runs, later))
            return
        told, memo = self._told, listening.memo
        key = Merging, merging.state, id(batch), self._missed, tuple(map(id, told)), tuple(map(id, later))
        made = cast("_Made | None", memo.get(key))
        if made is None:
            copied = merging.copy()
            copied.hear(told, self._missed)
            parts = copied.read(batch.parts, batch.runs, later)
            made = memo[key] = _Made(copied.share(), parts, (merging.share(), batch, told, later))
        self._merging, self._told, self._missed = made.merging, [], 0
        self._ready.extend(made.parts)

    def _own_merging(self) -> Merging:
        """What this reader has been told, by itself."""
        merging = self._merging = self._merged.own()
        merging.hear(self._told, self._missed)
        self._told, self._missed = [], 0
        return merging

    @property
    def _key(self) -> object:
        return TaskStream, self._entered.task_id, self._after, self._longest

    async def _end_unread(self, error: RunNotFound) -> None:
        """Tell the end of a task of which nothing is kept, and what was told before that.

        Args:
            error: What is raised if its end is not known either.
        """
        hearing, after = self._entered, self._after
        outcome = await self._come_to()
        if isinstance(outcome, RunNotFound):
            raise error
        at = datetime.fromtimestamp(hearing.clock(), UTC)
        while not hearing.listening.buffer.is_empty:
            heard = hearing.listening.buffer.take()
            self._told += heard.told
            self._missed += heard.missed
        self._ready.extend(self._own_merging().flush())
        come_to = outcome if isinstance(outcome, BaseException) else outcome()
        self._ready.append(unkept_end(come_to, hearing.task_id, hearing.name, after, at))
        self._outcome, self._is_over = outcome, True

    async def _batch(self) -> Batch:
        """What follows the last read; whoever else reads that shares it."""
        return await self._entered.listening.shared(self._key, self._next_batch)

    async def _next_batch(self) -> Batch:
        hearing = self._entered
        listening, arguments = hearing.listening, (hearing.loop_of, hearing.task_id, self._after)
        known, mask, longest = self._known, hearing.mask, self._longest
        try:
            return await read(listening.followed, *arguments, known=known, mask=mask, longest=longest)
        except InvalidCursor:  # of a commit that only the store knows of yet, or of nobody's
            return await read(listening.source, *arguments, known=known, mask=mask, longest=longest)

    async def _come_to(self) -> Callable[[], AgentResult[OutputT_co]] | BaseException:
        """What makes the result of the run, once for all who ask; or its error."""
        hearing = self._entered

        async def made_once() -> Callable[[], AgentResult[OutputT_co]]:
            return cache(await hearing.result())

        try:
            return await hearing.listening.shared((TaskStream, hearing.task_id), made_once)
        except Exception as error:  # noqa: BLE001  # whatever the run has come to is raised by `result`
            return error

    @property
    def _entered(self) -> Hearing[OutputT_co]:
        if self._hearing is None:
            raise RuntimeError("the stream is not open: enter its block first (`async with … as stream`)")
        return self._hearing

    @property
    def _merged(self) -> Merging:
        assert self._merging is not None  # noqa: S101  # it is made on entering
        return self._merging
