"""Cooperative scheduling: every path through a hub lets other tasks run after a millisecond or two of work."""

from collections.abc import Awaitable, Coroutine, Generator
from time import monotonic
from types import TracebackType
from typing import Any, Final

from anyio.lowlevel import cancel_shielded_checkpoint, checkpoint

_SLICE: Final = 0.002
_CALLS: Final = 2048
LOOK_EVERY: Final = 16
"""How many calls come between two checks of the clock."""
_SENDS: Final = 256


class _Nothing:
    """An awaitable that is done at once, cheaper than a coroutine."""

    __slots__ = ()

    def __await__(self) -> Generator[object, None, None]:
        return iter(())  # type: ignore[return-value]  # an iterator is all that `await` needs


_NOTHING: Final = _Nothing()


class TimeSlice:
    """The time slice of the task that works for a hub now. One value serves all tasks, since only one runs at a time.

    The body of each public coroutine is inside ``async with time_slice:``, or does the same inline where that would
    cost too much: at its end, even if it raises, it lets other tasks run if the slice is used up. So a call has taken
    effect when it yields, and a loop over calls yields, however they end. Loops inside the hub call `take`, too.

    A slice is two milliseconds of real time, even if the hub's clock is a test's, but at most 2,048 calls, many of
    which take a microsecond, and at least 16: an occasional call does not yield.
    """

    __slots__ = ("_ends", "_spent")

    def __init__(self) -> None:
        self._spent = 0
        self._ends = monotonic() + _SLICE

    def after_send(self, number: int) -> Coroutine[Any, Any, None] | None:
        """What to await after every 16th message, by its number; cheaper than `spend` for each."""
        return self.next() if number % _SENDS == 0 or monotonic() >= self._ends else None

    def spend(self, calls: int = 1) -> bool:
        """Count calls; True if the slice is used up."""
        self._spent += calls
        return self._spent >= LOOK_EVERY and (self._spent >= _CALLS or monotonic() >= self._ends)

    async def next(self) -> None:
        """Let other tasks run, and start a new slice."""
        await checkpoint()
        self._begin()

    async def take(self, calls: int = 1) -> None:
        """Count calls, and let other tasks run if the slice is used up."""
        if self.spend(calls):
            await self.next()

    async def next_shielded(self) -> None:
        """Let other tasks run in the middle of work that must be finished, even in a cancelled task."""
        await cancel_shielded_checkpoint()
        self._begin()

    async def take_shielded(self) -> None:
        """The same if the slice is used up."""
        if self.spend():
            await self.next_shielded()

    def _begin(self) -> None:
        self._spent = 0
        self._ends = monotonic() + _SLICE

    def __aenter__(self) -> Awaitable[None]:
        """Start an operation that a caller may run in a loop."""
        return _NOTHING

    def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> Awaitable[None]:
        """Let other tasks run if the slice is used up; not when a cancelled task or a closed coroutine exits."""
        goes_on = exc_type is None or issubclass(exc_type, Exception)
        return self.next() if goes_on and self.spend() else _NOTHING
