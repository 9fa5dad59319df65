"""When others get their turn: every path through a hub lets other tasks run after a millisecond or two of work."""

from collections.abc import Awaitable, Coroutine, Generator
from time import monotonic
from types import TracebackType
from typing import Any, Final

from anyio.lowlevel import cancel_shielded_checkpoint, checkpoint

_TURN: Final = 0.002
_CALLS: Final = 1024
LOOK_EVERY: Final = 16
"""How many calls come between two looks at the clock."""
_SENDS: Final = 256


class _Nothing:
    """Something to await that is over at once, cheaper than a coroutine."""

    __slots__ = ()

    def __await__(self) -> Generator[object, None, None]:
        return iter(())  # type: ignore[return-value]  # an iterator is all that `await` needs


_NOTHING: Final = _Nothing()


class Turns:
    """The turn of whoever works for a hub now. One value serves all tasks, since only one of them runs at a time.

    The body of each public coroutine stands in ``async with turns:``, or does the same by itself where that would cost
    too much: at its end, also by an error, it lets others run if the turn is used up. So what a call does is done when
    it yields, and a loop over any of them yields, however the calls end. Loops inside of the hub `take` turns, too.

    A turn is two milliseconds of real time, also where the hub's clock is a test's, but not more than 1,024 calls, of
    which many take a microsecond, and not less than 16: a call now and then does not yield.
    """

    __slots__ = ("_ends", "_spent")

    def __init__(self) -> None:
        self._spent = 0
        self._ends = monotonic() + _TURN

    def after_send(self, number: int) -> Coroutine[Any, Any, None] | None:
        """What to await after each 16th message was sent, by its number; cheaper than to `spend` for each."""
        return self.next() if number % _SENDS == 0 or monotonic() >= self._ends else None

    def spend(self, calls: int = 1) -> bool:
        """Count what was done; whether the turn is used up."""
        self._spent += calls
        return self._spent >= LOOK_EVERY and (self._spent >= _CALLS or monotonic() >= self._ends)

    async def next(self) -> None:
        """Let others run, and begin a new turn."""
        await checkpoint()
        self._begin()

    async def take(self, calls: int = 1) -> None:
        """Count what was done, and let others run if the turn is used up."""
        if self.spend(calls):
            await self.next()

    async def next_shielded(self) -> None:
        """Let others run in the middle of what has to be finished, also by a task that was cancelled."""
        await cancel_shielded_checkpoint()
        self._begin()

    async def take_shielded(self) -> None:
        """The same if the turn is used up."""
        if self.spend():
            await self.next_shielded()

    def _begin(self) -> None:
        self._spent = 0
        self._ends = monotonic() + _TURN

    def __aenter__(self) -> Awaitable[None]:
        """Begin something that a caller may do in a loop."""
        return _NOTHING

    def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> Awaitable[None]:
        """Let others run if the turn is used up; not on the way out of a cancelled task or a closed coroutine."""
        goes_on = exc_type is None or issubclass(exc_type, Exception)
        return self.next() if goes_on and self.spend() else _NOTHING
