"""Waits that end by themselves, when their time has come."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import anyio

from stagepost.checkpoint import CheckpointStore, StoreClosed, StoreFailed

from .._containment import own_failure
from .._patience import until_saved

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_LONGEST: Final = 60.0  # seconds between looks at the clock, which may be set while nobody looks
_PAUSE: Final = 1.0  # seconds after a failure
_AT_ONCE: Final = 100  # waits that one transaction ends


class Timers:
    """Ends the waits of a store that are due. Of runs that have failed none is: they wait again once they are resumed.

    Args:
        store: Where the waits are.
        clock: Seconds since 1970.
        spawn: Runs a function in the runner's task group.
        log: Where failures are logged.
    """

    def __init__(
        self,
        store: CheckpointStore,
        clock: Callable[[], float],
        spawn: Callable[..., object],
        *,
        log: "BoundLogger",
    ) -> None:
        self._store = store
        self._clock = clock
        self._spawn = spawn
        self._log = log
        self._next_at: datetime | None = None
        self._opened: list[datetime] = []  # the earliest that was opened since the store was asked last
        self._expiring = anyio.Lock()
        self._earlier = anyio.Event()
        self._keeps_time = False

    def keep(self) -> None:
        """End waits when they are due, from now on."""
        if not self._keeps_time:
            self._keeps_time = True
            self._spawn(self._time)

    def expect(self, due_at: datetime) -> None:
        """A wait is open which is due then; only the next time is kept, however many runs wait."""
        self._opened = [min([due_at, *self._opened])]
        if self._next_at is None or due_at < self._next_at:
            self._next_at = due_at
            self._earlier.set()
        self.keep()

    def look(self) -> None:
        """Ask the store what is due next: others may have opened waits."""
        self._earlier.set()
        self.keep()

    async def _time(self) -> None:
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
            async with self._expiring:
                self._opened = []  # while the store looks for the next one, which then is none of these
                due_at = await self._store.expire(self._clock(), _AT_ONCE)
                self._next_at = min([*self._opened, *([] if due_at is None else [due_at])], default=None)
            more = due_at is not None and self._left(due_at) <= 0

    async def _sleep(self) -> None:
        """Until the next one is due, or an earlier one is opened."""
        self._earlier = anyio.Event()
        limit = None if self._next_at is None else min(_LONGEST, max(0.0, self._left(self._next_at)))
        with anyio.move_on_after(limit):
            await self._earlier.wait()

    def _left(self, due_at: datetime) -> float:
        return (due_at - datetime.fromtimestamp(self._clock(), UTC)).total_seconds()
