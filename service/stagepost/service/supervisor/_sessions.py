"""Sessions: conversations with a supervisor, keyed by UUIDs, in which one message is answered at a time."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final, Self
from uuid import uuid4
from weakref import WeakValueDictionary

import anyio

from stagepost.agents import Agent, MessageSaid, TaskFinished, Tasks, TaskStatus, TaskStream, converse
from stagepost.checkpoint import RunInfo, RunNotFound, RunStatus
from stagepost.workflows import Runner

from ._config import TurnLimits, WorkerConfig
from ._errors import InvalidEventId, KeyReused, SessionBusy
from ._guardrails import Guardrails
from ._keeper import Keeper
from ._progress import TurnProgress, read_event_id
from ._readers import Readers
from ._requests import ChatRequest, Resumption
from ._turns import ChatTurn

LABEL: Final = "conversation"  # what the turns of a conversation are found by
_OPEN: Final = tuple(status for status in RunStatus if status.is_open)
_WAITING: Final = (TaskStatus.AWAITING_APPROVAL, TaskStatus.AWAITING_ANSWER, TaskStatus.IN_DOUBT)
_FIRST: Final = Resumption()
_DETACHED: Final = "detached/"


class ChatSessions:
    """The sessions of a supervisor: an async context manager.

    ::

        async with ChatSessions(runner, supervisor, workers) as sessions:
            turn = await sessions.turn(ChatRequest(message="How is Miami?", session_id=str(uuid4())))
            async for event in turn.events(): ...

    Each message is a turn, which is a durable task: it goes on after a restart, and so do its readers.

    Args:
        runner: Where the supervisor runs; it has recovered its runs.
        supervisor: The supervisor.
        workers: Its workers.
        limits: How long turns may take.

    Attributes:
        workers: The workers.
    """

    def __init__(
        self,
        runner: Runner,
        supervisor: Agent[str],
        workers: Sequence[WorkerConfig],
        *,
        limits: TurnLimits | None = None,
    ) -> None:
        self.workers = tuple(workers)
        self._runner = runner
        self._tasks = Tasks(runner)
        self._agent = supervisor
        self._limits = limits or TurnLimits()
        self._keeper = Keeper(runner.clock)
        self._readers = Readers(self._unread)
        self._leavings: dict[str, object] = {}  # by turn: its last reader has left, or the process has begun
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self._group = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        """Begin to keep turns within their limits, also those that an earlier process has begun."""
        for hook in self._agent.hooks:
            if isinstance(hook, Guardrails):
                hook.bind(self._runner)
        after: str | None = None
        while True:
            page = await self._runner.runs.list(workflow=self._agent.name, status=_OPEN, after=after)
            for info in page.items:
                if LABEL in info.labels and "." not in info.run_id:
                    self._limit(info.run_id)
                    self._unread(info.run_id)
            after = page.next
            if after is None:
                break
        await self._group.__aenter__()  # last, so that nothing is left open if the store fails
        self._group.start_soon(self._keeper.run)
        return self

    async def __aexit__(self, *_raised: object) -> None:
        """Leave turns as they are; the next process goes on with them."""
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)  # whatever was raised passes as it is, and not in a group

    async def turn(self, request: ChatRequest, how: Resumption = _FIRST) -> ChatTurn | None:
        """Find the turn that a request is about, or prepare a new one, which begins when its events are read.

        Args:
            request: The message.
            how: Whether it joins a turn, or resumes one.

        Returns:
            The turn; None if the reader was told all of it.

        Raises:
            InvalidEventId: The reader comes with an id that is none of the session's.
            KeyReused: The key stands for another message.
            SessionBusy: The session is still answering, and does not let others wait.
        """
        known = None if how.key is None else await self._with_key(request.session_id, how.key)
        if known is not None:
            await self._check_same(known, request.message)
        if how.after:
            if how.key is not None and known is None:  # else the message would be lost
                raise InvalidEventId("no message was sent with the Idempotency-Key yet")
            return await self._resumed(request.session_id, known, how.after)
        if known is not None:
            return self._found(request.session_id, known)
        if not self._limits.waits and await self._is_busy(request.session_id):
            raise SessionBusy(request.session_id)
        return ChatTurn(request.session_id, None, partial(self._started, request, how))

    async def last(self, session_id: str, after: str | None = None) -> ChatTurn | None:
        """The last turn of a session.

        Args:
            session_id: The session.
            after: The id of the last event that the reader has got.

        Returns:
            The turn; None if the reader was told all of it, or nothing was said yet.

        Raises:
            InvalidEventId: The id is none of the session's.
        """
        if after:
            return await self._resumed(session_id, None, after)
        turns = await self.turns(session_id)
        return self._found(session_id, turns[-1]) if turns else None

    async def turns(self, session_id: str) -> Sequence[str]:
        """The ids of the turns of a session that are still stored, the first one first."""
        found: list[str] = []
        after: str | None = None
        while True:
            page = await self._runner.runs.list(labels={LABEL: session_id}, workflow=self._agent.name, after=after)
            found += [info.run_id for info in page.items if _is_turn(info, session_id)]
            after = page.next
            if after is None:
                return sorted(found, key=_number)

    def _found(self, session_id: str, turn_id: str, progress: TurnProgress | None = None) -> ChatTurn:
        return ChatTurn(session_id, progress, partial(self._joined, turn_id, progress))

    async def _resumed(self, session_id: str, known: str | None, after: str) -> ChatTurn | None:
        """The turn that a reader comes back to."""
        progress = read_event_id(after)
        turn_id = f"{session_id}-{progress.turn}"
        if known not in (None, turn_id):
            raise InvalidEventId("it is of another turn than the Idempotency-Key")
        try:
            has_all = await self._tasks.heard_all(turn_id, progress.cursor)
        except RunNotFound:
            raise InvalidEventId("the session has no such turn") from None
        return None if has_all else self._found(session_id, turn_id, progress)

    async def _with_key(self, session_id: str, key: str) -> str | None:
        """The turn that was started with a key.

        Raises:
            KeyReused: Something else was.
        """
        page = await self._runner.runs.list(workflow=self._agent.name, key=f"{session_id}/{key}", limit=1)
        if page.items and not _is_turn(page.items[0], session_id):
            raise KeyReused
        return page.items[0].run_id if page.items else None

    async def _check_same(self, turn_id: str, message: str) -> None:
        """See that a turn answers this message."""
        async with self._tasks.stream(turn_id) as stream:
            async for part in stream:
                if isinstance(part, MessageSaid) and part.role == "user":
                    if part.text != message:
                        raise KeyReused
                    return

    async def _is_busy(self, session_id: str) -> bool:
        """Whether a session is answering, or about to."""
        return self._lock(session_id).locked() or await self._has_open(session_id)

    async def _has_open(self, session_id: str) -> bool:
        """Whether a turn of a session is open."""
        labels = {LABEL: session_id}
        page = await self._runner.runs.list(labels=labels, workflow=self._agent.name, status=_OPEN, limit=1)
        return bool(page.items)

    @asynccontextmanager
    async def _started(self, request: ChatRequest, how: Resumption) -> AsyncIterator[TaskStream[Any]]:
        """A turn that begins with its stream, after the turns before it; or one that was begun with the key since."""
        session_id = request.session_id
        key = how.key or (f"{_DETACHED}{uuid4()}" if how.detach else None)
        talk = converse(self._runner, self._agent, id=session_id, idle=None, trace=session_id)
        lock = self._lock(session_id)
        await self._acquire(lock, session_id)
        try:
            known = None if how.key is None else await self._with_key(session_id, how.key)
            if known is not None:
                lock.release()
                await self._check_same(known, request.message)
                async with self._joined(known, None) as stream:
                    yield stream
                return
            if not self._limits.waits and await self._has_open(session_id):
                raise SessionBusy(session_id)
            await talk.__aenter__()
            async with talk.stream(request.message, key=key, whole_results=True) as stream:
                lock.release()
                self._limit(stream.task_id)
                with self._readers.reading(stream.task_id):
                    yield stream
        finally:
            if lock.statistics().owner == anyio.get_current_task():
                lock.release()

    async def _acquire(self, lock: anyio.Lock, session_id: str) -> None:
        """Wait until no other message of a session is about to begin.

        Raises:
            SessionBusy: One is, and the session does not let others wait.
        """
        if self._limits.waits:
            await lock.acquire()
            return
        try:
            lock.acquire_nowait()
        except anyio.WouldBlock:
            raise SessionBusy(session_id) from None

    @asynccontextmanager
    async def _joined(self, turn_id: str, progress: TurnProgress | None) -> AsyncIterator[TaskStream[Any]]:
        """The stream of a turn that there is."""
        after = None if progress is None else progress.cursor
        async with self._tasks.stream(turn_id, after=after, whole_results=True) as stream:
            with self._readers.reading(turn_id):
                yield stream

    def _lock(self, session_id: str) -> anyio.Lock:
        return self._locks.setdefault(session_id, anyio.Lock())

    def _limit(self, turn_id: str) -> None:
        """See to it that a turn does not take longer than it may."""
        self._keeper.after(self._limits.deadline, partial(self._late, turn_id))

    def _unread(self, turn_id: str) -> None:
        """See to it that a turn that nobody reads does not go on for long."""
        leaving = self._leavings[turn_id] = object()
        self._keeper.after(self._limits.grace, partial(self._left, turn_id, leaving))

    async def _late(self, turn_id: str) -> None:
        """Cancel a turn that takes too long; give it the same time again if it waits for a person."""
        if not await self._cancel(turn_id):
            self._limit(turn_id)

    async def _left(self, turn_id: str, leaving: object) -> None:
        """Cancel a turn that nobody has read since, unless it was to go on all the same."""
        if self._leavings.get(turn_id) is not leaving:  # it was read again, and left again: that counts
            return
        del self._leavings[turn_id]
        if self._readers.has(turn_id):
            return
        with suppress(RunNotFound):
            if (await self._runner.runs.info(turn_id)).key is None:
                await self._cancel(turn_id)

    async def _cancel(self, turn_id: str) -> bool:
        """Cancel a turn, unless it waits for a person; returns whether it has ended."""
        with suppress(RunNotFound, TaskFinished):
            if (await self._tasks.get(turn_id)).status in _WAITING:
                return False
            await self._tasks.cancel(turn_id)
        return True


def _is_turn(info: RunInfo, session_id: str) -> bool:
    """Whether a run is a turn of a session, and not one that a worker's tool has started."""
    return info.run_id.startswith(f"{session_id}-") and info.run_id[len(session_id) + 1 :].isdecimal()


def _number(turn_id: str) -> int:
    return int(turn_id.rpartition("-")[2])
