"""What is done when its time has come: waits end, runs of schedules start, runs in line go on."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import anyio

from stagepost.checkpoint import StoreClosed, StoreFailed

from .._containment import own_failure
from .._patience import until_saved

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_LONGEST: Final = 60.0  # seconds between looks at the clock, which may be set while nobody looks
_PAUSE: Final = 1.0  # seconds after a failure
_AT_ONCE: Final = 100  # waits that one transaction ends, schedules that are looked at together


class Timers:
    """Does what is due, a few at a time, and looks again when the next is.

    Args:
        due: Does what is due at a time, at most so many, and returns when the next is, also if that is before the time.
        clock: Seconds since 1970.
        spawn: Runs a function in the runner's task group.
        log: Where failures are logged.
    """

    def __init__(
        self,
        due: Callable[[float, int], Awaitable[datetime | None]],
        clock: Callable[[], float],
        spawn: Callable[..., object],
        *,
        log: "BoundLogger",
    ) -> None:
        self._due = due
        self._clock = clock
        self._spawn = spawn
        self._log = log
        self._next_at: datetime | None = None
        self._opened: list[datetime] = []  # the earliest that was opened since the store was asked last
        self._expiring = anyio.Lock()
        self._earlier = anyio.Event()
        self._keeps_time = False

    @property
    def next_at(self) -> datetime | None:
        """When something is due next, as far as is known; None if nothing is."""
        return min([*self._opened, *([] if self._next_at is None else [self._next_at])], default=None)

    def keep(self) -> None:
        """Do what is due when it is, from now on."""
        if not self._keeps_time:
            self._keeps_time = True
            self._spawn(self._time)

    def expect(self, due_at: datetime) -> None:
        """Something is due then; only the next time is kept, however many there are."""
        self._opened = [min([due_at, *self._opened])]
        if self._next_at is None or due_at < self._next_at:
            self._next_at = due_at
            self._earlier.set()
        self.keep()

    def look(self) -> None:
        """Find out what is due next: others may have changed that."""
        self._earlier.set()
        self.keep()

    async def _time(self) -> None:
        """Do what is due, for as long as the store works; one that is full is tried again."""
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
        """Do what is due now."""
        more = True
        while more:
            async with self._expiring:
                self._opened = []  # while the next one is looked for, which then is none of these
                due_at = await self._due(self._clock(), _AT_ONCE)
                self._next_at = min([*self._opened, *([] if due_at is None else [due_at])], default=None)
            more = due_at is not None and self._left(due_at) <= 0

    async def begin(self) -> None:
        """Do what is due now, and go on with that if anything is due later."""
        await self.expire()
        if self._next_at is not None:
            self.keep()

    async def _sleep(self) -> None:
        """Until the next one is due, or an earlier one is opened."""
        self._earlier = anyio.Event()
        limit = None if self._next_at is None else min(_LONGEST, max(0.0, self._left(self._next_at)))
        with anyio.move_on_after(limit):
            await self._earlier.wait()

    def _left(self, due_at: datetime) -> float:
        return (due_at - datetime.fromtimestamp(self._clock(), UTC)).total_seconds()
