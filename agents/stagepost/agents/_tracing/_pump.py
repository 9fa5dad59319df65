"""The way from runs to a provider: a bounded queue and one task, so that whatever a provider does harms no run."""

from collections import deque
from collections.abc import Awaitable, Callable
from math import inf
from typing import Final, TypeAlias

import anyio
from anyio.lowlevel import checkpoint

from stagepost._dataclasses import dataclass
from stagepost.hub import TaskGuard, get_logger, new_guard
from stagepost.workflows import own_failure

from ._provider import TracingProvider

Call: TypeAlias = Callable[[], Awaitable[object]]

_FAIR: Final = 0.001  # seconds of work before others get the event loop
_EXACT: Final = 0.1  # of its patience, by which a call may be given less
_AT_LEAST: Final = 0.01  # seconds that a provider gets at the end, even if it is given none


@dataclass(slots=True)
class TracingStatistics:
    """What has become of what providers were told.

    Attributes:
        told: Calls that a provider has answered.
        failed: Calls that have raised an exception.
        timed_out: Calls that took too long.
        dropped: Observations and events that the provider was not told of, because too much was waiting already or the
            time was up.
    """

    told: int = 0
    failed: int = 0
    timed_out: int = 0
    dropped: int = 0


class Pump:
    """Hands calls to a provider, one after the other, in the order in which they came.

    If the queue is full, starts are dropped, and with them all that belongs to what was not started: so whatever a
    provider has heard of the start of, it hears of the end of.

    Args:
        provider: The provider.
        statistics: Counts what becomes of the calls.
        most: How many calls may wait.
        patience: Seconds that a call may take.
    """

    def __init__(self, provider: TracingProvider, statistics: TracingStatistics, *, most: int, patience: float) -> None:
        self._provider = provider
        self._statistics = statistics
        self._most = most
        self._patience = patience
        self._waiting: deque[Call] = deque()
        self._unknown: set[str] = set()
        self._news = anyio.Event()
        self._is_closed = False
        self._is_calling = False
        self._has_logged = False

    def start(self, span: str, parent: str | None, call: Call) -> None:
        """Hand on the start of an observation.

        Args:
            span: Its id.
            parent: Id of what it is below.
            call: Tells the provider.
        """
        if self._is_closed or len(self._waiting) >= self._most or parent in self._unknown:
            self._unknown.add(span)
            self._statistics.dropped += 1
        else:
            self._unknown.discard(span)
            self._put(call)

    def tell(self, span: str, call: Call) -> None:
        """Hand on what has happened within an observation; it may be dropped."""
        if self._is_closed or len(self._waiting) >= self._most or span in self._unknown:
            self._statistics.dropped += 1
        else:
            self._put(call)

    def end(self, span: str, call: Call) -> None:
        """Hand on the end of an observation, unless the provider does not know it."""
        if span in self._unknown:
            self._unknown.discard(span)
        elif self._is_closed:
            self._statistics.dropped += 1
        else:
            self._put(call)

    def _put(self, call: Call) -> None:
        self._waiting.append(call)
        self._news.set()

    def failed_at_once(self, error: BaseException) -> None:
        """The provider has failed where a run asked it something without waiting its turn.

        Raises:
            BaseException: It is no failure of the provider's, see `own_failure`.
        """
        self._fail(type(own_failure(error)).__name__)

    async def run(self) -> None:
        """Hand on what comes, until `close` is called; then what is left, and have it sent."""
        while True:
            await self._hand_on()
            if self._is_closed:
                break
            self._news = anyio.Event()
            await self._news.wait()
        await self._flush()

    def close(self) -> None:
        """Take nothing more."""
        self._is_closed = True
        self._news.set()

    def give_up(self) -> None:
        """Count what was not handed on."""
        self._statistics.timed_out += self._is_calling
        self._statistics.dropped += len(self._waiting)
        self._waiting.clear()

    async def _hand_on(self) -> None:
        while self._waiting:
            with anyio.CancelScope() as limit:
                guard, renewed, yielded = new_guard(), -inf, anyio.current_time()
                while self._waiting:
                    now = anyio.current_time()
                    if now - yielded > _FAIR:  # most providers never wait, and runs have a right to the loop
                        await checkpoint()
                        now = yielded = anyio.current_time()
                    if now - renewed > self._patience * _EXACT:  # it costs as much as a call
                        limit.deadline, renewed = now + self._patience, now
                    await self._make(self._waiting.popleft(), guard)
            self._note_timeout(limit)

    async def _flush(self) -> None:
        with anyio.move_on_after(self._patience) as limit:
            await self._make(self._provider.flush, new_guard())
        self._note_timeout(limit)

    async def _make(self, call: Call, guard: TaskGuard) -> None:
        """Make one call; the task is afterwards as it was before."""
        self._is_calling = True
        try:
            await call()
        except BaseException as error:  # noqa: BLE001  # what is no failure of the provider's is raised again
            await _mend(guard)
            self._fail(type(own_failure(error)).__name__)
        else:
            if guard.is_intact() or not await _mend(guard):
                self._statistics.told += 1
            else:
                self._fail("a cancel scope or a cancellation left in the task")
        self._is_calling = False

    def _fail(self, why: str) -> None:
        self._statistics.failed += 1
        self._log(why)

    def _note_timeout(self, limit: anyio.CancelScope) -> None:
        if limit.cancelled_caught:
            self._is_calling = False
            self._statistics.timed_out += 1
            self._log("timeout")

    def _log(self, why: str) -> None:
        """Log the first failure; the rest is counted. The error's text may hold content, and is not logged."""
        if not self._has_logged:
            self._has_logged = True
            provider = type(self._provider).__name__
            get_logger("agents").warning(
                "tracing failed; further failures are only counted", provider=provider, error=why
            )


class Pumping:
    """Has a pump work in a task of its own until it is left.

    The task group around it would wrap errors of the block, so they pass by it.

    Args:
        pump: It.
        within: Seconds that it may take at the end to hand on what is left.
    """

    def __init__(self, pump: Pump, within: float) -> None:
        self._pump = pump
        self._within = within
        self._group = anyio.create_task_group()
        self._scope = anyio.CancelScope(shield=True)  # whoever cancels the block gets to it after this

    async def __aenter__(self) -> Pump:
        await self._group.__aenter__()
        self._group.start_soon(self._work)
        return self._pump

    async def _work(self) -> None:
        with self._scope:
            await self._pump.run()

    async def __aexit__(self, *_raised: object) -> None:
        self._group.cancel_scope.shield = True
        self._scope.deadline = anyio.current_time() + max(self._within, _AT_LEAST)
        self._pump.close()
        await self._group.__aexit__(None, None, None)
        self._pump.give_up()


async def _mend(guard: TaskGuard) -> bool:
    """Bring the task back to the state in which it was; whether there was something to mend."""
    if guard.is_intact():
        return False
    has_left, was_cancelled = await guard.leave_scopes(), await guard.drop_cancellation()
    return has_left or was_cancelled
