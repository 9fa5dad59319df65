"""Bounds the work that comparing, hashing and sorting nested values takes.

A value can hold another twice, which holds a third twice, and so on: forty such steps look like a million million
values. Python's own functions would go through all of them without a look at the clock.
"""

from typing import Final

from .._fault import Fault

_MOST: Final = 100_000  # some ten milliseconds


class Effort:
    """Counts the parts of values that one comparison goes through."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _MOST

    def spend(self, parts: int) -> None:
        """Count parts.

        Raises:
            Fault: They are too many.
        """
        self._left -= parts
        if self._left < 0:
            raise Fault(
                "memory_exceeded",
                f"a nested value of more than {_MOST} parts cannot be compared, sorted or used as a key",
                "compare or sort by a field",
            )
