"""Ranges of days as people and models name them, in the time zone of the user."""

import re
from datetime import date, datetime, timedelta
from typing import Final, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, model_validator

from .errors import InvalidRange

RANGES: Final = ("today", "yesterday", "this_week", "last_week", "this_month", "last_month")
"""The names of ranges. Beside them there are dates, ``2026-11-23``, and pairs of them, ``2026-11-23:2026-11-27``."""

_DAY: Final = r"\d{4}-\d{2}-\d{2}"
_CUSTOM: Final = re.compile(rf"({_DAY})(?:\s*:\s*({_DAY}))?")


class DateRange(BaseModel):
    """Some days, the first and the last included.

    Attributes:
        name: As it was asked for.
        first: The first day.
        last: The last day.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    first: date
    last: date

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if self.last < self.first:
            raise ValueError(f"{self.first} is after {self.last}")
        return self

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last


def date_range(name: str, *, now: datetime, time_zone: str) -> DateRange:
    """The days that a name stands for. Weeks begin on Monday, and are whole weeks, as months are whole months.

    Args:
        name: One of `RANGES`, a date, or two dates with a colon between them.
        now: The time, with a time zone.
        time_zone: IANA name of the user's time zone: what is today there may be tomorrow elsewhere.

    Raises:
        InvalidRange: It is none of these, one of the dates does not exist, or the second one comes first; `now` has no
            time zone, or that of the user is not known.
    """
    said = name.strip()
    custom = _CUSTOM.fullmatch(said)
    try:
        today = _local(said, now, time_zone)
        first, last = _days(said.casefold().replace(" ", "_"), today) if custom is None else _dates(custom)
    except OverflowError as error:
        raise InvalidRange(said, "it has days before the year 1 or after 9999") from error
    if last < first:
        raise InvalidRange(said, f"{first} is after {last}")
    return DateRange(name=said, first=first, last=last)


def _local(name: str, now: datetime, time_zone: str) -> date:
    """The day where the user is."""
    if now.tzinfo is None:
        raise InvalidRange(name, f"now={now} has no time zone: give datetime.now(UTC)")
    try:
        return now.astimezone(ZoneInfo(time_zone)).date()
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidRange(name, f"no time zone is named {time_zone!r}") from error


def _dates(custom: re.Match[str]) -> tuple[date, date]:
    try:
        return date.fromisoformat(custom[1]), date.fromisoformat(custom[2] or custom[1])
    except ValueError as error:
        raise InvalidRange(custom[0], "one of the dates does not exist") from error


def _days(name: str, today: date) -> tuple[date, date]:
    monday = today - timedelta(days=today.weekday())
    first = today.replace(day=1)
    before = first - timedelta(days=1)
    match name:
        case "today":
            return today, today
        case "yesterday":
            return today - timedelta(days=1), today - timedelta(days=1)
        case "this_week":
            return monday, monday + timedelta(days=6)
        case "last_week":
            return monday - timedelta(days=7), monday - timedelta(days=1)
        case "this_month":
            return first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        case "last_month":
            return before.replace(day=1), before
    raise InvalidRange(name, f"it is none of {', '.join(RANGES)}, and no date")
