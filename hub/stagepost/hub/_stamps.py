"""Cheap ids and times of messages: a counter and one reading of the clock; text is built on demand."""

from collections.abc import Callable
from secrets import token_hex
from time import time


class Stamps:
    """The clock of a hub and the ids of its messages.

    Attributes:
        clock: Seconds, monotonic; the event loop's own.
        count: How many messages were stamped.
    """

    __slots__ = ("_offset", "_prefix", "clock", "count")

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.count = 0
        self._offset = time() - clock()
        self._prefix = token_hex(4)

    def wall(self, moment: float) -> float:
        """A moment of the clock in Unix seconds."""
        return moment + self._offset

    def message_id(self, number: int, moment: float) -> str:
        """The id of the message with this number, sent at that moment of the clock."""
        return f"{int(self.wall(moment) * 1000):011x}-{self._prefix}-{number:010x}"
