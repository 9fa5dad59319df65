"""When runs are started that nobody starts by hand."""

from datetime import datetime

from ._output import Output


class ScheduleRow(Output):
    """When runs of a workflow are started."""

    key: str
    """Its name."""
    workflow: str
    """The workflow of its runs."""
    when: str | None
    """The cron text; null if it has a fixed distance."""
    every: float | None
    """Seconds between two runs; null if it has a cron text."""
    timezone: str
    """The time zone of the cron text."""
    missed: str
    """What is done about times that have passed without a run."""
    overlap: str
    """What is done while the last run is open."""
    paused: bool
    """Whether it starts nothing."""
    next_due: datetime | None
    """The time that the next run is for; null if there is none any more."""
    last_due: datetime | None
    """The time that the last run is for."""
    last_run: str | None
    """The id of that run."""
    not_started: int
    """For how many times no run was started."""
    failures: int
    """How often in a row a run could not be started."""
    error: str | None
    """Why, the last time."""


class DamagedSchedule(Output):
    """A schedule that cannot be read, and starts nothing."""

    key: str
    """Its name."""
    reason: str
    """What was found."""


class ScheduleList(Output):
    """Schedules (`schedules ls`)."""

    schedules: list[ScheduleRow]
    """The schedules, in the order of their keys."""
    next: str | None
    """For ``--after``: where the next page begins; null if there is none."""
    damaged: list[DamagedSchedule]
    """Schedules that cannot be read."""
