"""What anybody may write for a run, whoever owns it and wherever.

All of this only writes. Whoever owns the run, or may claim it, hears of it through `Ownership.changes`.
"""

from datetime import datetime
from typing import Protocol


class Inbox(Protocol):
    """Answers, signals, words about effects, cancellations, and what ends by itself."""

    async def answer(
        self,
        run_id: str,
        place: str,
        value: bytes,
        *,
        name: str | None = None,
        by: str | None = None,
        checked: bool = True,
    ) -> None:
        """Answer a wait; a parked run is running again, and nobody's until it is claimed.

        Args:
            run_id: The run.
            place: The step that waits.
            value: JSON.
            name: What it has to wait for, since a step may ask one thing after the other; None for whatever it is.
            by: Who answers.
            checked: Whether whoever answers knows that the value fits.

        Raises:
            RunNotFound: There is no such run.
            RunNotOpen: It has ended, or its end was requested.
            WaitNotFound: It does not wait there for an answer.
            AlreadyAnswered: Another answer came first, or the time was up; or it waits for something else by now.
        """
        ...

    async def signal(
        self, run_id: str, name: str, value: bytes, *, dedup: str | None = None, checked: bool = True
    ) -> bool:
        """Send a signal: to the wait that was opened for its name first, or into the queue for the next one.

        Args:
            run_id: The run.
            name: The signal's name.
            value: JSON.
            dedup: Two signals of one name and `dedup` are one.
            checked: Whether whoever sends it knows that the value fits.

        Returns:
            Whether it is new.

        Raises:
            RunNotFound: There is no such run.
            RunNotOpen: It has ended, or its end was requested.
        """
        ...

    async def settle(self, run_id: str, place: str, key: str, value: bytes | None, *, checked: bool = True) -> None:
        """Say what became of an effect that its run waits for word of: done with this value, or (None) undone.

        Args:
            run_id: The run.
            place: The step that waits.
            key: The effect's key.
            value: JSON of what it returned; None: it did not happen.
            checked: Whether whoever says so knows that the value fits.

        Raises:
            RunNotFound: There is no such run.
            RunNotOpen: It has ended, or its end was requested.
            EffectNotFound: It waits for no word of this effect.
        """
        ...

    async def cancel(self, run_id: str) -> None:
        """Request the end of an open run, and of all open runs below it, for good.

        From now on they take no commit but that of their end. Below a run are those whose ids begin with its own and a
        dot: its steps have started them, or steps of such runs.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
        """
        ...

    async def release(self, child: str) -> None:
        """End all waits for the end of the run `child`."""
        ...

    async def expire(self, now: float, limit: int = 100) -> datetime | None:
        """End waits that are due at `now` (seconds since 1970), the longest overdue first, at most `limit`.

        Returns:
            When the next one is due (UTC), also if that is before `now`; None if none has a time.
        """
        ...
