"""Waits that end by the time."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import anyio

from stagepost.checkpoint import CheckpointStore, StoreClosed, StoreFailed

from .._containment import own_failure
from ._patience import until_saved
from ._telling import Telling

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_LONGEST: Final = 60.0  # seconds between looks at the clock, which may be set while nobody looks
_PAUSE: Final = 1.0  # seconds after a failure
_AT_ONCE: Final = 100  # waits that one transaction ends


class Timers:
    """Ends waits that are due, and wakes their runs.

    Only the next due time is kept in memory, however many runs wait.

    Args:
        store: Where waits are kept.
        clock: Seconds since 1970.
        wake: Lets runs go on; called with their ids.
        telling: Is told of what ends waits.
        log: Where failures are logged.

    Attributes:
        is_running: Whether somebody has seen to it that `run` is under way.
    """

    def __init__(
        self,
        store: CheckpointStore,
        clock: Callable[[], float],
        wake: Callable[..., Awaitable[None]],
        telling: Telling,
        log: "BoundLogger",
    ) -> None:
        self._log = log
        self._store = store
        self._clock = clock
        self._wake = wake
        self._telling = telling
        self._next_at: datetime | None = None
        self._earlier = anyio.Event()
        self.is_running = False

    def expect(self, due_at: datetime) -> None:
        """Note that a wait was opened which is due then."""
        if self._next_at is None or due_at < self._next_at:
            self._next_at = due_at
            self._earlier.set()

    async def run(self) -> None:
        """End waits when they are due, for as long as the store works; one that is full is tried again."""
        while True:
            try:
                await until_saved(self.expire)
            except (StoreFailed, StoreClosed):  # for good: every run hears of it without this
                return
            except BaseException as error:  # noqa: BLE001  # the clock is a user's; what is no failure is raised again
                self._log.error("timers failed", exc_info=own_failure(error))
                await anyio.sleep(_PAUSE)
                continue
            await self._sleep()

    async def expire(self) -> None:
        """End those that are due now."""
        more = True
        while more:
            self._next_at = None
            with self._telling.save():
                due = await self._store.expire(self._clock(), _AT_ONCE)
            await self._wake(*due.run_ids)
            if due.next_at is not None:
                self.expect(due.next_at)
            more = due.next_at is not None and self._left(due.next_at) <= 0

    async def _sleep(self) -> None:
        """Until the next one is due, or an earlier one is opened."""
        self._earlier = anyio.Event()
        limit = None if self._next_at is None else min(_LONGEST, max(0.0, self._left(self._next_at)))
        with anyio.move_on_after(limit):
            await self._earlier.wait()

    def _left(self, due_at: datetime) -> float:
        return (due_at - datetime.fromtimestamp(self._clock(), UTC)).total_seconds()
