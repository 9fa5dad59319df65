"""What is asked of a schedule, as its terms, or why it cannot be."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, get_args

from stagepost.checkpoint import LabelRefused, check_labels
from stagepost.hub import Duration, HubError, seconds

from ..errors import ScheduleRefused
from ._terms import Missed, Overlap, Terms
from ._when import Cron, shortest, zone_of

LABEL: Final = "schedule"
"""The label that names the schedule of a run."""
_LEAST: Final = timedelta(milliseconds=1)


def asked(
    key: str,
    when: str | Duration,
    *,
    timezone: str,
    missed: Missed,
    overlap: Overlap,
    jitter: Duration | None,
    until: datetime | None,
    due_as: str | None,
    labels: Mapping[str, str],
    now: datetime,
) -> Terms:
    """The terms of a schedule, without the state of its runs.

    Raises:
        ScheduleRefused: It cannot be so.
        ExtraMissing: What reads cron texts is not installed.
    """
    _check_choice(key, "missed", missed, get_args(Missed))
    _check_choice(key, "overlap", overlap, get_args(Overlap))
    if missed == "all" and overlap == "skip":
        raise ScheduleRefused(key, "missed='all' starts several runs at once, which overlap='skip' forbids")
    if until is not None and until.tzinfo is None:
        raise ScheduleRefused(key, f"until={until!r}: give a datetime with a time zone")
    _check_labels(key, labels)
    terms = Terms(
        when=_when(key, when, timezone),
        zone=timezone,
        missed=missed,
        overlap=overlap,
        jitter=_length(key, "jitter", 0 if jitter is None else jitter),
        until=None if until is None else until.astimezone(UTC),
        due_as=due_as,
        labels=dict(labels),
    )
    _check_times(key, terms, now)
    return terms


def _when(key: str, when: str | Duration, timezone: str) -> str | timedelta:
    """A cron text that can be read, or the distance between two times."""
    if isinstance(when, str):
        try:
            zone_of(timezone)
        except ValueError as error:
            raise ScheduleRefused(key, str(error)) from None
        return " ".join(when.split())
    every = _length(key, "when", when)
    if every < _LEAST:
        raise ScheduleRefused(key, f"when={when!r}: give at least a millisecond, or a cron text")
    return every


def _length(key: str, name: str, given: Duration) -> timedelta:
    try:
        return timedelta(seconds=seconds(given, name))
    except (HubError, OverflowError) as error:
        raise ScheduleRefused(key, f"{name}={given!r}: {error}") from None


def _check_choice(key: str, name: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        raise ScheduleRefused(key, f"{name}={given!r}: give one of {', '.join(map(repr, known))}")


def _check_labels(key: str, labels: Mapping[str, str]) -> None:
    """See that the runs can have them, with the one that names the schedule."""
    if LABEL in labels:
        raise ScheduleRefused(key, f"its runs have the label {LABEL!r} with its key: call yours something else")
    try:
        check_labels({**labels, LABEL: key})
    except LabelRefused as error:
        raise ScheduleRefused(
            key, f"its runs have its key as the label {LABEL!r}, beside yours, and {error.reason}"
        ) from None


def _check_times(key: str, terms: Terms, now: datetime) -> None:
    """See that there are times, and that each run starts before the next one is due."""
    try:
        if isinstance(terms.when, timedelta):
            distance: timedelta | None = terms.when
        else:
            distance = shortest(Cron(terms.when, zone_of(terms.zone)), now)
            first = terms.times.after(None, now)
            if first is None:
                raise ScheduleRefused(key, f"{terms.when!r} names no time in the next fifty years")
    except ValueError as error:
        if isinstance(error, ScheduleRefused):
            raise
        raise ScheduleRefused(key, str(error)) from None
    if distance is not None and terms.jitter >= distance:
        raise ScheduleRefused(key, f"jitter={terms.jitter}: give less than the {distance} between two of its times")
