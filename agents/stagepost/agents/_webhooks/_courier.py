"""Takes the parts of one task to one URL, in order: the next one is sent when the one before was delivered."""

from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from enum import Enum, auto
from functools import partial
from typing import NamedTuple, TypeAlias

import anyio

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import RunNotFound, StoreClosed, StoreFailed
from stagepost.hub import get_logger
from stagepost.workflows import RunnerNotOpen, RunnerStopped

from .._retries import Retries
from ..errors import NotAnAgent
from ._address import host_of
from ._again import saved, tried_again
from ._book import Book, Following
from ._request import Letter, PartLike, headers_of, letter_of
from ._slots import Slots
from ._verdict import Failed, Gone, Unreadable, check_answer

OpenStream: TypeAlias = Callable[[str, str | None], AbstractAsyncContextManager[AsyncIterable[PartLike]]]
"""The parts of a task after a cursor; they end with the task."""

Post: TypeAlias = Callable[[str, Mapping[str, str], bytes], Awaitable[tuple[int, Mapping[str, str]]]]
"""Sends a request: status and headers of the answer, or `Failed`."""

_NEVER = (RunNotFound, NotAnAgent)
_NOT_NOW = (RunnerStopped, RunnerNotOpen, StoreFailed, StoreClosed)  # another process goes on with it


class Outcome(Enum):
    """How the work of a courier has ended."""

    ENDED = auto()  # the task's end was delivered, or there is no such task
    PAUSED = auto()
    GONE = auto()  # the receiver wants nothing more
    LEFT = auto()  # from outside; the next one goes on


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What couriers work with.

    Attributes:
        book: Keeps where they are.
        stream: Opens streams.
        post: Sends.
        slots: How many send at once.
        keys: What to sign with, by URL.
        retries: How often, and when, a part is sent again.
        clock: Seconds since 1970.
    """

    book: Book
    stream: OpenStream
    post: Post
    slots: Slots
    keys: Callable[[str], Sequence[bytes]]
    retries: Retries
    clock: Callable[[], float]


class Courier:
    """See the module.

    Args:
        following: The task.
        means: What it works with.

    Attributes:
        following: The task.
        done: Set by its owner, when it does no more.
    """

    def __init__(self, following: Following, means: Means) -> None:
        self.following = following
        self.done = anyio.Event()
        self._means = means
        self._host = host_of(following.url)
        self._cursor = following.cursor
        self._failures = 0
        self._scope = anyio.CancelScope()
        self._is_sending = self._is_leaving = False

    def stop(self) -> None:
        """Do no more, also if a request is under way."""
        self._scope.cancel()

    def leave(self) -> None:
        """Do no more, but end the request that is under way."""
        self._is_leaving = True
        if not self._is_sending:
            self._scope.cancel()

    async def run(self) -> Outcome:
        """Deliver until there is nothing more to do."""
        with self._scope:
            return await self._run()
        return Outcome.LEFT

    async def _run(self) -> Outcome:
        means, number = self._means, self.following.number
        if self.following.next_at is not None:
            await anyio.sleep(max(0.0, self.following.next_at - means.clock()))
        try:
            while (undone := await self._follow()) is not None:
                await tried_again(undone.failed, undone.attempt, means.retries, self._note)
                self._failures = 0
        except Unreadable as last:  # the next process may be able to read it: it stays active
            await self._note(last, self._failures + 1, 0.0)
            self._warn("webhook_task_unreadable", last.why)
            return Outcome.LEFT
        except Failed as last:
            await saved(partial(means.book.pause, number, self._failures + 1, last.why))
            self._warn("webhook_paused", last.why)
            return Outcome.PAUSED
        except Gone:
            return Outcome.GONE
        except _NOT_NOW:
            return Outcome.LEFT
        except _NEVER as error:
            if isinstance(error, RunNotFound):
                self._warn("webhook_task_missing", "the task was deleted before its end was delivered")
        await saved(partial(means.book.forget, self.following))
        return Outcome.ENDED

    async def _follow(self) -> "_Undone | None":
        """Deliver part by part; None at the end of the task, else what has to be done before it can go on."""
        task_id = self.following.task_id
        try:
            async with self._means.stream(task_id, self._cursor) as stream:
                async for part in stream:
                    letter = letter_of(part)
                    if letter is None:
                        continue
                    try:
                        await self._deliver(letter)
                    except Failed as failed:
                        return _Undone(failed, partial(self._deliver, letter))
        except (Gone, *_NEVER, *_NOT_NOW):
            raise
        except Exception as error:  # noqa: BLE001  # whatever a stream raises concerns this task only
            why = f"the task cannot be read ({type(error).__name__})"
            return _Undone(Unreadable(why), self._follow_again)
        return None

    async def _follow_again(self) -> None:
        """Another attempt to read the task; it counts as a failure only if no part of it was delivered."""
        before = self._cursor
        undone = await self._follow()
        if undone is not None and self._cursor == before:
            raise undone.failed

    async def _deliver(self, letter: Letter) -> None:
        """Send a part once, and keep that it was delivered.

        Raises:
            Failed: It was not.
            Gone: The receiver wants nothing more.
        """
        async with self._means.slots.one(self._host):
            self._is_sending = True
            try:
                await self._send(letter)
                await saved(partial(self._means.book.delivered, self.following.number, letter.cursor))
                self._cursor = letter.cursor
            finally:
                self._is_sending = False
                if self._is_leaving:
                    self._scope.cancel()

    async def _send(self, letter: Letter) -> None:
        means, url = self._means, self.following.url
        try:
            headers = headers_of(letter, means.keys(url), means.clock())
            status, answered = await means.post(url, headers, letter.body)
        except Failed:
            raise
        except Exception as error:  # of the function that gives secrets, or of the HTTP library
            raise Failed(f"it could not be sent ({type(error).__name__})") from error
        check_answer(status, answered)

    async def _note(self, failed: Failed, attempt: int, pause: float) -> None:
        self._failures = attempt
        next_at = self._means.clock() + pause
        await saved(partial(self._means.book.failed, self.following.number, attempt, failed.why, next_at))

    def _warn(self, event: str, why: str) -> None:
        """Log what somebody has to look at: metadata only."""
        of = self.following
        get_logger("agents").warning(event, webhook=of.webhook_id, host=self._host, task=of.task_id, why=why)


class _Undone(NamedTuple):
    """What has to be done before a courier can go on.

    Attributes:
        failed: How the first attempt has failed.
        attempt: Makes another one.
    """

    failed: Failed
    attempt: Callable[[], Awaitable[None]]
