"""A schedule as its owner sees it."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import CorruptSchedule, Page, StoredSchedule, Unreadable

from ..errors import ScheduleNotReadable
from ._terms import Missed, Overlap, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When runs of a workflow are started, and what has become of that until now.

    Attributes:
        key: Its name.
        workflow: The name of the workflow.
        when: A cron text, or the distance between two runs.
        timezone: The time zone of a cron text.
        missed: What is done about times that have passed without a run.
        overlap: What is done while the last run is open.
        jitter: How much later than its time a run starts at most.
        until: Times after this one do not count (UTC).
        due_as: The key of the state that gets the time of the run.
        labels: Labels of its runs, beside ``schedule``.
        paused: Whether it starts nothing.
        next_due: The time that the next run is for (UTC); None: there is none any more.
        last_due: The time that the last run is for (UTC).
        last_run: The id of that run.
        not_started: For how many times no run was started: nobody was there, or the last run was open.
        failures: How often in a row a run could not be started.
        error: Why, the last time.
        created_at: When it was made (UTC).
    """

    key: str
    workflow: str
    when: str | timedelta
    timezone: str = "UTC"
    missed: Missed = "skip"
    overlap: Overlap = "start"
    jitter: timedelta = timedelta()
    until: datetime | None = None
    due_as: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    paused: bool = False
    next_due: datetime | None = None
    last_due: datetime | None = None
    last_run: str | None = None
    not_started: int = 0
    failures: int = 0
    error: str | None = None
    created_at: datetime

    @classmethod
    def of(cls, stored: StoredSchedule) -> "Schedule":
        """A schedule as a store has it: for whoever reads a store without a runner.

        Raises:
            ScheduleNotReadable: This version of stagepost makes no sense of it.
        """
        terms = Terms.of(stored)
        return cls(
            key=stored.key,
            workflow=stored.workflow,
            when=terms.when,
            timezone=terms.zone,
            missed=terms.missed,
            overlap=terms.overlap,
            jitter=terms.jitter,
            until=terms.until,
            due_as=terms.due_as,
            labels=terms.labels,
            paused=stored.paused,
            next_due=stored.due_at,
            last_due=stored.last_due,
            last_run=stored.last_run,
            not_started=stored.missed,
            failures=stored.failures,
            error=stored.error,
            created_at=stored.created_at,
        )


def page_of(stored: Page[StoredSchedule]) -> Page[Schedule]:
    """A page of schedules as their owners see them; those that this version cannot read are beside the damaged ones."""
    found, damaged = list[Schedule](), list[Unreadable](stored.damaged)
    for each in stored.items:
        try:
            found.append(Schedule.of(each))
        except ScheduleNotReadable as error:
            damaged.append(CorruptSchedule(error.key, f"this version of stagepost does not know it: {error.reason}"))
    return Page(tuple(found), stored.next, tuple(damaged))
