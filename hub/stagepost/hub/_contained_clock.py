"""A clock that is given to a hub: its errors are contained."""

from typing import Final

from anyio import move_on_after

from ._contained import attempt
from ._containment import failure_of, is_fatal
from ._log import get_logger
from ._wake import Backend, Clock, Waiter

_POLL: Final = 0.05


def contained_clock(backend: Backend, clock: Clock) -> Backend:
    """A backend that takes the time from a clock."""
    contained = _ContainedClock(clock)
    return backend._replace(clock=contained.now, wait_until=contained.wait_until)


class _ContainedClock:
    """Time stands still while the clock fails to tell it; a failing wait is repeated."""

    __slots__ = ("_clock", "_complained", "_now")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now = 0.0
        self._complained = False

    def now(self) -> float:
        _, failure = attempt(self._read)
        if failure is not None:
            self._complain(failure)
        return self._now

    async def wait_until(self, waiter: Waiter, moment: float) -> None:
        try:
            await self._clock.wait_until(waiter, moment)
        except BaseException as error:
            failure = failure_of(error)
            if failure is None or is_fatal(failure):
                raise
            self._complain(failure)
            with move_on_after(_POLL):
                await waiter

    def _read(self) -> None:
        self._now = float(self._clock.now())

    def _complain(self, failure: BaseException) -> None:
        if not self._complained:
            self._complained = True
            get_logger("hub").error("clock failed, further failures are ignored", exc_info=failure)
