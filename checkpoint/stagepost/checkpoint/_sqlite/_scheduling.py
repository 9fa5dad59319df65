"""The parts of the protocol for schedules and admissions, on top of SQL."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from .._pages import Page
from .._schedules import DueSchedules, StoredSchedule
from ..errors import CorruptSchedule, ScheduleNotFound
from . import _schedules as schedules
from ._connect import Connection
from ._queries import Query, Row
from ._rows import LAST, to_micros, to_time

T = TypeVar("T")


class ScheduleReading(ABC):
    """Reads schedules from their table; what is missing is how a query reaches its connection."""

    @abstractmethod
    async def _read(self, query: Query) -> Sequence[Row]:
        """The rows of a query."""

    async def schedule(self, key: str) -> StoredSchedule:
        """A schedule."""
        for row in await self._read(schedules.one_query(key)):
            return schedules.to_schedule(row)
        raise ScheduleNotFound(key)

    async def schedules(self, *, after: str | None = None, limit: int = 100) -> Page[StoredSchedule]:
        """All schedules, in the order of their keys."""
        rows = await self._read(schedules.page_query(after or "", limit + 1))
        found, damaged = schedules.to_schedules(rows[:limit])
        return Page(found, rows[limit - 1][0] if len(rows) > limit else None, damaged)


class Scheduling(ScheduleReading):
    """Writes schedules and admissions; what is missing is how work reaches its connection."""

    @abstractmethod
    def _write(self, work: Callable[[Connection], T], *, patient: bool = True) -> Coroutine[Any, Any, T]:
        """Do work in a transaction."""

    async def due_schedules(self, now: datetime, *, limit: int = 100) -> DueSchedules:
        """Schedules that are to be looked at."""
        moment = to_micros(now.timestamp())
        due, damaged = list[StoredSchedule](), list[CorruptSchedule]()
        query = schedules.next_query(limit + 1)
        while rows := await self._read(query):
            for row in rows:
                try:
                    found = schedules.to_schedule(row)
                except CorruptSchedule as error:
                    damaged += [error] * (schedules.place_of(row)[0] <= moment)
                    continue
                if len(due) == limit or found.look_at is None or found.look_at > now:
                    return DueSchedules(due, found.look_at, damaged)
                due.append(found)
            query = schedules.next_query(limit + 1, schedules.place_of(rows[-1]))
        return DueSchedules(due, None, damaged)

    async def save_schedule(self, schedule: StoredSchedule) -> StoredSchedule:
        """Store a schedule in the place of its last revision, or a new one."""
        return await self._write(partial(schedules.save, schedule=schedule))

    async def delete_schedule(self, key: str) -> None:
        """Forget a schedule."""
        await self._write(partial(schedules.delete, key=key))

    async def admit(self, counted: Collection[str], now: datetime, *, before: datetime) -> None:
        """Write down that a run is taken up."""
        times = to_micros(now.timestamp()), to_micros(before.timestamp())
        await self._write(partial(schedules.admit, counted=tuple(counted), now=times[0], before=times[1]))

    async def admissions(self, since: datetime) -> Sequence[tuple[str, datetime]]:
        """What was counted and when."""
        rows = await self._read(schedules.admissions_query(to_micros(since.timestamp())))
        return [(counted, to_time(min(at, LAST))) for counted, at in rows]
