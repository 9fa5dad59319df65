"""Waiting for conditions."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ._wake import Waiter

Condition: TypeAlias = Callable[[], bool]


class Bell:
    """Tasks wait here for conditions, which are checked again whenever the bell rings."""

    __slots__ = ("_new_waiter", "_waiting")

    def __init__(self, new_waiter: Callable[[], Waiter]) -> None:
        self._new_waiter = new_waiter
        self._waiting: Sequence[tuple[Waiter, Condition]] = ()

    def ring(self) -> None:
        """Something has changed: wake the tasks whose condition holds now."""
        for waiter, condition in self._waiting:
            if not waiter.done() and condition():
                waiter.set_result(None)

    async def until(self, condition: Condition) -> None:
        """Wait until a condition holds."""
        while not condition():
            entry = self._new_waiter(), condition
            self._waiting = [*self._waiting, entry]
            try:
                await entry[0]
            finally:
                self._waiting = tuple(other for other in self._waiting if other is not entry)
