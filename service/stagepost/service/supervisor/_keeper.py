"""What is done for turns after a time: those that nobody reads and those that take too long are cancelled."""

from collections.abc import Awaitable, Callable
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

import anyio

from stagepost.hub import get_logger

Action: TypeAlias = Callable[[], Awaitable[None]]


class Keeper:
    """Does things when they are due. One task runs it.

    Args:
        clock: Seconds; only differences count.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._due: list[tuple[float, int, Action]] = []
        self._number = count()
        self._sooner = anyio.Event()

    def after(self, seconds: float, action: Action) -> None:
        """Do something after so many seconds."""
        heappush(self._due, (self._clock() + seconds, next(self._number), action))
        self._sooner.set()

    async def run(self) -> None:
        """Do what is due, until this is cancelled."""
        while True:
            self._sooner = anyio.Event()
            wait = self._due[0][0] - self._clock() if self._due else None
            if wait is None or wait > 0:
                with anyio.move_on_after(wait):
                    await self._sooner.wait()
                continue
            action = heappop(self._due)[2]
            try:
                await action()
            except Exception as error:  # noqa: BLE001  # of one turn; the others are still to be kept within their limits
                get_logger("supervisor").error("turn_not_kept", exc_info=error)
