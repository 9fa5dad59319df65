"""When runs were taken up that count toward a limit per minute: what makes such a limit outlive the process."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol


class Admissions(Protocol):
    """Keeps the times of the last minutes, by what is counted."""

    async def admit(self, counted: Collection[str], now: datetime, *, before: datetime) -> None:
        """Write down that a run is taken up.

        Args:
            counted: What it counts toward.
            now: The time. What was written down for later times counts for this one: the clock was set back.
            before: What was written down before this time is forgotten.
        """
        ...

    async def admissions(self, since: datetime) -> Sequence[tuple[str, datetime]]:
        """What was counted and when, in the order of time, since a time."""
        ...
