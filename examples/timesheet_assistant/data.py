"""The timesheets of some people: made up, always around today, and the same in every process of a day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from types import MappingProxyType
from typing import Final

from stagepost.service.assistant import User

USERS: Final[Mapping[str, User]] = MappingProxyType(
    {
        "ada": User(id="ada", name="Ada", time_zone="Europe/Oslo", preferences={"hours_per_week": 40}),
        "kenji": User(id="kenji", name="Kenji", time_zone="Asia/Tokyo", preferences={"hours_per_week": 40}),
        "maria": User(id="maria", name="Maria", time_zone="America/Los_Angeles", preferences={"hours_per_week": 20}),
    }
)
"""Maria has entered nothing for three weeks."""

PROJECTS: Final = ("Harbour", "Lighthouse", "Tide tables")
_NOTES: Final = (
    (
        "planned the next stage with the crew, and wrote down who takes which boat. The weather may change on "
        "Thursday, so that everybody has to be ready a day before"
    ),
    (
        "fixed the lamp and wrote the log. The spare parts are used up, so that new ones have to be ordered this "
        "month, and the old ones go back to the maker"
    ),
    (
        "checked the charts of the western bay against the soundings of spring. Two rocks have to be added to the map, "
        "and one has to be moved to the north"
    ),
    (
        "reviewed the drawings, and then met the harbour master. The gate needs another hinge before the winter "
        "begins, and a coat of paint, if there is time for that"
    ),
    (
        "measured the water level at both gates. It was as in the table, but for the hour around noon, which was "
        "higher than it has been for a whole year"
    ),
)
_HOURS: Final = (8.0, 7.5, 8.5, 8.0)
_WEEKS: Final = 9  # before this one
_DAYS_BOOKED: Final = 4  # of a week: 32 of 40 hours


@dataclass(frozen=True)
class Entry:
    """What somebody has worked on a day.

    Attributes:
        id: Of the entry.
        day: The day.
        project: What it was for.
        hours: How long.
        note: What was done.
    """

    id: str
    day: date
    project: str
    hours: float
    note: str


def entries_of(user: str, today: date) -> Sequence[Entry]:
    """All entries of a user, the oldest first: four days of each week, also of the days that are still to come.

    Args:
        user: Id of the user.
        today: The day that they are around.
    """
    monday = today - timedelta(days=today.weekday())
    weeks = range(-_WEEKS, 1)
    quiet = {-2, -1, 0} if user == "maria" else set()
    shift = sum(map(ord, user))
    return [
        _entry(user, monday + timedelta(weeks=week, days=day), shift + week * 5 + day, _HOURS[day])
        for week in weeks
        if week not in quiet
        for day in range(_DAYS_BOOKED)
    ]


def _entry(user: str, day: date, turn: int, hours: float) -> Entry:
    return Entry(f"{user}-{day:%m%d}", day, PROJECTS[turn % len(PROJECTS)], hours, _NOTES[turn % len(_NOTES)])
