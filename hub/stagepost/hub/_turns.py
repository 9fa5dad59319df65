"""When others get their turn: every path through a hub lets other tasks run after about a millisecond of work."""

from time import monotonic
from typing import Final

from anyio.lowlevel import cancel_shielded_checkpoint, checkpoint

_TURN: Final = 0.001


class Turns:
    """The turn of whoever works for a hub now. One value serves all tasks, since only one of them runs at a time.

    Each public coroutine looks at it before anything else, and so do loops inside of the hub. So a loop over any of
    them yields, however the calls end, and a call that is cancelled while it yields has done nothing yet. It is real
    time, also where the hub's clock is a test's.

    Attributes:
        ends: When the turn is used up, in the time of `monotonic`; for hot paths, which save the call of `over`.
    """

    __slots__ = ("ends",)

    def __init__(self) -> None:
        self.ends = monotonic() + _TURN

    def over(self) -> bool:
        """Whether the turn is used up."""
        return monotonic() >= self.ends

    async def next(self) -> None:
        """Let others run, and begin a new turn."""
        await checkpoint()
        self.ends = monotonic() + _TURN

    async def take(self) -> None:
        """Let others run if the turn is used up."""
        if monotonic() >= self.ends:
            await self.next()

    async def take_shielded(self) -> None:
        """The same for what has to be finished, also by a task that was cancelled."""
        if monotonic() >= self.ends:
            await cancel_shielded_checkpoint()
            self.ends = monotonic() + _TURN
