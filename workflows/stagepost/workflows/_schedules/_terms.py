"""What a schedule says, in its stored form and as a decision: which runs to start, and when to look again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import StoredSchedule, join_values, split_values

from ..errors import ScheduleNotReadable
from ._when import Cron, Every, Times, zone_of

Missed: TypeAlias = Literal["skip", "once", "all"]
Overlap: TypeAlias = Literal["start", "skip"]

MOST: Final = 100
"""How many missed runs ``missed="all"`` starts at one time."""
LATE: Final = timedelta(minutes=1)
"""How late a run may start that counts as on time."""
_COUNTED: Final = 1_000
_NONE: Final = timedelta()


class Due(NamedTuple):
    """What is to be done about the times that have come.

    Attributes:
        times: For which of them a run is to be started, in their order.
        missed: For how many none is.
        next: The time after them; None if there is none any more.
    """

    times: Sequence[datetime]
    missed: int
    next: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a schedule says.

    Attributes:
        when: A cron text, or the distance between two times.
        zone: Name of the time zone of a cron text.
        state: What its runs start with, as JSON.
        missed: What is done about times that have passed without a run.
        overlap: What is done while the last run is open.
        jitter: How much later than its time a run starts at most.
        until: Times after this one do not count (UTC).
        due_as: The key of the state that gets the time.
        labels: Labels of the runs, beside that of the schedule.
    """

    when: str | timedelta
    zone: str = "UTC"
    state: bytes = b"{}"
    missed: Missed = "skip"
    overlap: Overlap = "start"
    jitter: timedelta = _NONE
    until: datetime | None = None
    due_as: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def times(self) -> Times:
        """The times that it names."""
        return Every(self.when) if isinstance(self.when, timedelta) else Cron(self.when, zone_of(self.zone))

    def is_timed_as(self, other: "Terms") -> bool:
        """Whether it names the same times, so that the next one stays."""
        return (self.when, self.zone, self.until) == (other.when, other.zone, other.until)

    def after(self, due_at: datetime | None, moment: datetime) -> datetime | None:
        """The first time after a moment that counts."""
        found = self.times.after(due_at, moment)
        return None if found is None or (self.until is not None and found > self.until) else found

    def look_at(self, key: str, due_at: datetime) -> datetime:
        """When the run for a time starts: as much later, whoever asks."""
        if not self.jitter:
            return due_at
        digest = blake2b(f"{key}\0{due_at.isoformat()}".encode(), digest_size=8).digest()
        return due_at + self.jitter * (int.from_bytes(digest) / (1 << 64))

    def due(self, key: str, due_at: datetime, now: datetime) -> Due:
        """What is to be done now.

        Args:
            key: The schedule.
            due_at: The first time for which no run was started yet; it has come.
            now: The time.
        """
        past = self.times.past(due_at, now, _COUNTED)
        found = [time for time in past.latest if self.until is None or time <= self.until] or [due_at]
        while len(found) > 1 and self.look_at(key, found[-1]) > now:
            found.pop()
        following = self.after(found[-1], found[-1])
        times = self._chosen(found, key, now)
        return Due(times, past.before + len(found) - len(times), following)

    def _chosen(self, found: Sequence[datetime], key: str, now: datetime) -> Sequence[datetime]:
        """For which of the times that have come a run is to be started."""
        if self.missed == "all":
            return found[-MOST:]
        if self.missed == "once" or now - self.look_at(key, found[-1]) <= LATE:
            return found[-1:]
        return ()

    def dump(self) -> bytes:
        """Its stored form."""
        when = self.when if isinstance(self.when, str) else _micros(self.when)
        told = {
            "when": when,
            "zone": self.zone,
            "missed": self.missed,
            "overlap": self.overlap,
            "jitter": _micros(self.jitter),
            "until": None if self.until is None else self.until.isoformat(),
            "due_as": self.due_as,
            "labels": dict(self.labels),
        }
        return join_values({**{name: json.dumps(value).encode() for name, value in told.items()}, "state": self.state})

    @classmethod
    def of(cls, stored: StoredSchedule) -> "Terms":
        """The terms of a schedule as a store has it.

        Raises:
            ScheduleNotReadable: They are none that this version knows.
        """
        try:
            parts = dict(split_values(stored.definition))
            state = parts.pop("state")
            told = {name: json.loads(part) for name, part in parts.items()}
            when, jitter, until = told.pop("when"), told.pop("jitter"), told.pop("until")
            _ = get_args(Missed).index(told["missed"]), get_args(Overlap).index(told["overlap"])
            _check_texts(told["zone"], told["due_as"] or "", *told["labels"], *told["labels"].values())
            return cls(
                when=when if isinstance(when, str) else timedelta(microseconds=when),
                jitter=timedelta(microseconds=jitter),
                until=None if until is None else datetime.fromisoformat(until).astimezone(UTC),
                state=state,
                **told,
            )
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ScheduleNotReadable(stored.key, repr(error)) from error


def _check_texts(*texts: object) -> None:
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("its time zone, due_as or labels are no texts")


def _micros(length: timedelta) -> int:
    return length // timedelta(microseconds=1)
