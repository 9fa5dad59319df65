"""Schedules of a store on which no runner works, or which another process owns."""

from datetime import UTC, datetime
from typing import Protocol

from stagepost.checkpoint import Page, ScheduleChanged, Schedules, StoredSchedule

from .._schedules._schedule import Schedule, page_of
from ._timetable import resumed


class ScheduleReader(Protocol):
    """A store as far as listing its schedules needs it: `SqliteStore.reader` gives one to any process."""

    async def schedules(self, *, after: str | None = None, limit: int = 100) -> Page[StoredSchedule]:
        """All schedules, in the order of their keys.

        Args:
            after: Only those after this: `next` of the page before.
            limit: At most so many.
        """
        ...


async def read_schedules(store: ScheduleReader, *, after: str | None = None, limit: int = 100) -> Page[Schedule]:
    """The schedules of a store without a runner, in the order of their keys: also beside its living owner.

    Args:
        store: Where they are.
        after: `Page.next` of the page before.
        limit: At most so many.

    Returns:
        A page; those that cannot be read, or not by this version of stagepost, are in `Page.damaged`.
    """
    return page_of(await store.schedules(after=after, limit=limit))


async def pause_schedule(store: Schedules, key: str, *, paused: bool = True) -> Schedule:
    """Pause a schedule of a store on which no runner works, or resume it, as `Runner.schedules` does.

    Nothing is started. Of a schedule that is resumed the next time is counted from now.

    Args:
        store: Where it is; this process owns it.
        key: The schedule.
        paused: False to resume it.

    Raises:
        ScheduleNotFound: There is none.
        ScheduleNotReadable: What is stored of it makes no sense to this version of stagepost.
    """
    while True:
        stored = await store.schedule(key)
        changed = stored._replace(paused=True) if paused else resumed(stored, datetime.now(UTC))
        try:
            return Schedule.of(await store.save_schedule(changed))
        except ScheduleChanged:  # somebody else has saved it since
            continue
