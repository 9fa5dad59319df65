"""Dates and times; the clock is the host's, so that a program that runs again sees the same time."""

from datetime import UTC, date, datetime
from typing import Any, Final

from .._fault import TYPE, Fault
from .._machine import Machine
from .._values._names import wrong_types
from .._values._types import Builtin
from ._sequence import family

_SECONDS: Final = 10**12


def make_date(m: Machine, *args: Any) -> datetime:
    if not args:
        return datetime.fromtimestamp(m.world.now(), UTC)
    (given,) = args
    try:
        if type(given) in {int, float}:
            return datetime.fromtimestamp(given if abs(given) < _SECONDS else given / 1000, UTC)
        if type(given) is str and len(given) < 100:  # noqa: PLR2004 - no date is longer
            return _aware(_parsed(given))
        if isinstance(given, date):
            return _aware(given)
    except (ValueError, OverflowError, OSError):
        pass
    raise wrong_types("java.util.Date.", given, hint="seconds, milliseconds, or a text such as 2024-05-31T10:00:00Z")


def _parsed(text: str) -> date:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 - dear to import, and seldom used

        return parsedate_to_datetime(text)


def _aware(moment: date) -> datetime:
    if not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def get_time(_: Machine, moment: Any) -> int:
    if not isinstance(moment, datetime):
        raise wrong_types(".getTime", moment, hint='write (.getTime (java.util.Date. "2024-05-31"))')
    since = _aware(moment) - datetime(1970, 1, 1, tzinfo=UTC)
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


def parse_date(_: Machine, text: Any) -> date:
    if type(text) is not str:
        raise wrong_types("LocalDate/parse", text)
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Fault(TYPE, "LocalDate/parse: not a date such as 2024-05-31") from None


def milliseconds(m: Machine) -> int:
    return int(m.world.now() * 1000)


B = Builtin
DATES: Final = family(
    "Date",
    B("java.util.Date.", 0, 1, make_date, "a date-time, of seconds, milliseconds or a text; now", "", ("Date.",)),
    B(".getTime", 1, 1, get_time, "its milliseconds since 1970"),
    B("LocalDate/parse", 1, 1, parse_date, "a date of a text such as 2024-05-31"),
    B("System/currentTimeMillis", 0, 0, milliseconds, "now, in milliseconds since 1970", "", ("currentTimeMillis",)),
)
