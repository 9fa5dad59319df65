"""The times that a schedule names: each so many seconds, or as a cron text says.

All times are aware, and in UTC where they leave this module. A cron text is read by cronsim, which does as the cron of
Debian does when clocks are changed for summer: an hour that is named by numbers comes once each day, at the end of the
gap if it is skipped and the first time if it comes twice; a minute or hour that begins with ``*`` is counted as time
passes.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ..errors import ExtraMissing

if TYPE_CHECKING:
    from cronsim import CronSim

_FIELDS: Final = 5
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_MICROSECOND: Final = timedelta(microseconds=1)


class Past(NamedTuple):
    """Times that have come.

    Attributes:
        latest: The last ones, in their order.
        before: How many came before them; of cron texts at least so many.
    """

    latest: Sequence[datetime]
    before: int = 0


class Times(Protocol):
    """A row of times without end."""

    def after(self, due_at: datetime | None, moment: datetime) -> datetime | None:
        """The first time after a moment.

        Args:
            due_at: One of the times; None if none is known yet.
            moment: The moment.

        Returns:
            The time; None if there is none in the next decades.
        """
        ...

    def past(self, due_at: datetime, now: datetime, most: int) -> Past:
        """The times from one of them until now.

        Args:
            due_at: The first one, which has come.
            now: The last one is not later.
            most: How many at most are told.
        """
        ...


class Every(NamedTuple):
    """Times at the same distance, counted from one of them, so that they do not drift.

    Attributes:
        distance: The distance.
    """

    distance: timedelta

    def after(self, due_at: datetime | None, moment: datetime) -> datetime | None:
        """The first time after a moment."""
        start = moment if due_at is None else due_at
        steps = (moment - start) // self.distance + 1
        try:
            return start + steps * self.distance
        except OverflowError:
            return None

    def past(self, due_at: datetime, now: datetime, most: int) -> Past:
        """The times from one of them until now."""
        count = (now - due_at) // self.distance + 1
        first = max(0, count - most)
        return Past([due_at + step * self.distance for step in range(first, count)], first)


class Cron(NamedTuple):
    """Times that a cron text of five fields names, by the clocks of a time zone.

    Attributes:
        text: The text.
        zone: The time zone.
    """

    text: str
    zone: tzinfo

    def after(self, due_at: datetime | None, moment: datetime) -> datetime | None:  # noqa: ARG002  # the protocol's signature
        """The first time after a moment."""
        return next(self._following(moment), None)

    def past(self, due_at: datetime, now: datetime, most: int) -> Past:
        """The times from one of them until now: looked for in the last days only, as far as these have enough."""
        span = _DAY
        while True:
            begin = max(due_at, now - span) if now - due_at > span else due_at
            found = []
            for time in self._following(begin - _MICROSECOND):
                if time > now:
                    break
                found.append(time)
            if begin == due_at or len(found) >= most:
                latest = found[-most:]
                return Past(latest, len(found) - len(latest))
            span *= 4

    def _following(self, moment: datetime) -> Iterator[datetime]:
        """The times after a moment: the library may give one twice, or one of the hour that comes twice."""
        last = moment
        for time in simulation(self.text, moment.astimezone(self.zone)):
            if (found := time.astimezone(UTC)) > last:
                last = found
                yield found


def simulation(text: str, since: datetime) -> "CronSim":
    """Times that a cron text names.

    Raises:
        ExtraMissing: What reads it is not installed.
        ValueError: It is no cron text of five fields.
    """
    try:
        from cronsim import CronSim, CronSimError  # noqa: PLC0415  # an extra
    except ImportError:
        raise ExtraMissing("A cron text", "cronsim", "schedules") from None
    if len(text.split()) != _FIELDS:
        raise ValueError(
            f"{text!r} is no cron text of {_FIELDS} fields: minute, hour, day of month, month, day of week"
        )
    try:
        return CronSim(text, since)
    except CronSimError as error:
        raise ValueError(f"{text!r} is no cron text: {error}") from None


@lru_cache(maxsize=64)
def zone_of(name: str) -> tzinfo:
    """The time zone of a name.

    Raises:
        ValueError: There is none.
    """
    if name == "UTC":
        return UTC  # also where no database of time zones is installed
    from zoneinfo import ZoneInfo  # noqa: PLC0415  # takes time, and schedules are seldom

    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise ValueError(
            f"there is no time zone {name!r}: give a name such as 'Europe/Berlin'; where the system has no database of "
            "time zones, the extra stagepost[schedules] brings one"
        ) from None


def shortest(times: Times, since: datetime, count: int = 50) -> timedelta | None:
    """The shortest distance between the next times; None if there are not two."""
    found = list(following(times, None, since, count))
    return min((later - earlier for earlier, later in pairwise(found)), default=None)


def following(times: Times, due_at: datetime | None, moment: datetime, count: int) -> Iterator[datetime]:
    """The first times after a moment, at most so many."""
    known = due_at
    for _ in range(count):
        found = times.after(known, moment)
        if found is None:
            return
        yield found
        known = moment = found
