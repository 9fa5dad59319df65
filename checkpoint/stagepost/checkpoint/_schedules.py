"""Schedules: when runs are started that nobody starts by hand, as a store keeps them."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from ._pages import Page, Unreadable


class StoredSchedule(NamedTuple):
    """A schedule, with what has become of it until now.

    Attributes:
        key: Its name, unique in the store.
        workflow: Name of the workflow of its runs.
        definition: When runs are started and with what, as JSON of the workflow layer's own.
        due_at: The time that its next run is for (UTC); None: there is none any more.
        look_at: When to look at it next (UTC): `due_at`, or later; None: never.
        paused: Whether it starts nothing.
        revision: How often it was saved; what is saved next is refused unless it says so. 0: it is a new one.
        last_due: The time that its last run is for (UTC).
        last_run: The id of that run.
        missed: For how many times no run was started.
        failures: How often in a row a run could not be started.
        error: Why, the last time.
        created_at: When it was made (UTC).
    """

    key: str
    workflow: str
    definition: bytes
    due_at: datetime | None
    look_at: datetime | None
    created_at: datetime
    paused: bool = False
    revision: int = 0
    last_due: datetime | None = None
    last_run: str | None = None
    missed: int = 0
    failures: int = 0
    error: str | None = None


class DueSchedules(NamedTuple):
    """Schedules that are to be looked at.

    Attributes:
        items: They, the longest due first.
        following: When to look at the first one after them (UTC), also if that has come already; None: there is none.
        damaged: Those that are due and cannot be read. They are in nobody's way, and told again each time.
    """

    items: Sequence[StoredSchedule]
    following: datetime | None = None
    damaged: Sequence[Unreadable] = ()


class Schedules(Protocol):
    """Keeps schedules. `NewRun.schedule` saves one together with the run that it starts."""

    async def schedule(self, key: str) -> StoredSchedule:
        """A schedule.

        Raises:
            ScheduleNotFound: There is none.
            CorruptSchedule: What is stored of it makes no sense.
        """
        ...

    async def schedules(self, *, after: str | None = None, limit: int = 100) -> Page[StoredSchedule]:
        """All schedules, in the order of their keys; those that cannot be read are in `Page.damaged`.

        Args:
            after: Only those after this: `next` of the page before.
            limit: At most so many.
        """
        ...

    async def due_schedules(self, now: datetime, *, limit: int = 100) -> DueSchedules:
        """Schedules that are to be looked at, the longest due first; those that are paused are not.

        Args:
            now: Those of this time and earlier.
            limit: At most so many; those that cannot be read do not count.
        """
        ...

    async def save_schedule(self, schedule: StoredSchedule) -> StoredSchedule:
        """Store a schedule in the place of its last revision, or a new one.

        Returns:
            It, as of its new revision.

        Raises:
            ScheduleChanged: It has another revision, or does not exist; or it does, and was to be a new one.
        """
        ...

    async def delete_schedule(self, key: str) -> None:
        """Forget a schedule. The runs that it has started stay.

        Raises:
            ScheduleNotFound: There is none.
        """
        ...
