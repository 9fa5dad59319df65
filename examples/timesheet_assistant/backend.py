"""The service that timesheets come from. It wants a token, and it can be made to fail."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import anyio
from pydantic import JsonValue

from stagepost.service.assistant import DateRange, User, date_range

from .data import PROJECTS, USERS, Entry, entries_of

TOKEN: Final = "timesheet-token-4711"  # noqa: S105  # a real one would come from the environment


@dataclass
class Failures:
    """What is to go wrong, for whoever wants to see how that is handled; may be switched at any time.

    Attributes:
        data_down: The timesheet service cannot be reached.
        judge_down: The model that judges answers fails.
        composer_down: The model that writes answers fails.
        planner_slow: The planner takes longer than it may.
        refiner_stubborn: The refiner brings back what it was given.
        sender_down: Nothing can be sent.
    """

    data_down: bool = False
    judge_down: bool = False
    composer_down: bool = False
    planner_slow: bool = False
    refiner_stubborn: bool = False
    sender_down: bool = False


@dataclass
class Backend:
    """Timesheets, looked up by user and by days in the user's time zone.

    Attributes:
        failures: What is to go wrong.
        clock: The time.
        pace: Seconds that a look-up takes.
    """

    failures: Failures = field(default_factory=Failures)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    pace: float = 0.0
    deleted: set[str] = field(default_factory=set)

    async def entries(self, user_id: str, period: str, token: str) -> tuple[DateRange, Sequence[Entry]]:
        """The entries of some days.

        Raises:
            PermissionError: The token is not ours.
            ConnectionError: The service cannot be reached.
            InvalidRange: The days cannot be understood.
        """
        user = await self._let_in(user_id, token)
        days = date_range(period, now=self.clock(), time_zone=user.time_zone)
        today = date_range("today", now=self.clock(), time_zone=user.time_zone).first
        found = [entry for entry in entries_of(user.id, today) if entry.day in days and entry.id not in self.deleted]
        return days, found

    async def delete(self, user_id: str, entry_id: str, token: str) -> bool:
        """Delete an entry; whether there was one."""
        user = await self._let_in(user_id, token)
        today = date_range("today", now=self.clock(), time_zone=user.time_zone).first
        known = entry_id in {entry.id for entry in entries_of(user.id, today)} - self.deleted
        self.deleted.add(entry_id)
        return known

    async def projects(self, user_id: str, token: str) -> Sequence[str]:
        """The projects that hours can be entered for."""
        await self._let_in(user_id, token)
        return PROJECTS

    async def _let_in(self, user_id: str, token: str) -> User:
        await anyio.sleep(self.pace)
        if self.failures.data_down:
            raise ConnectionError("the timesheet service does not answer")
        if token != TOKEN:
            raise PermissionError("the token is not known")
        return USERS[user_id]


def as_json(days: DateRange, entries: Sequence[Entry], user: User) -> dict[str, JsonValue]:
    """Entries as the data that answers are made from."""
    hours: dict[str, float] = {}
    for entry in entries:
        hours[entry.project] = hours.get(entry.project, 0.0) + entry.hours
    return {
        "period": {"name": days.name, "first": str(days.first), "last": str(days.last)},
        "total_hours": sum(hours.values()),
        "hours_per_week": user.preferences.get("hours_per_week"),
        "projects": [{"project": project, "hours": total} for project, total in sorted(hours.items())],
        "entries": [
            {"id": each.id, "date": str(each.day), "project": each.project, "hours": each.hours, "note": each.note}
            for each in entries
        ],
    }
