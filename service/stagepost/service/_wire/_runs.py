"""Runs that were found."""

from datetime import datetime
from typing import Literal

from ._output import Output, RunStatusName


class RunRow(Output):
    """A run without its state."""

    run_id: str
    """Its id."""
    workflow: str
    """Name of its workflow."""
    version: int
    """Version of the workflow."""
    status: RunStatusName
    """Where it stands."""
    key: str | None
    """Its start-once key."""
    labels: dict[str, str]
    """What it can be found by."""
    created_at: datetime
    """When it was started."""
    finished_at: datetime | None
    """When it ended."""
    error: str | None
    """Why it failed; in a list at most the first 1,000 characters."""
    blocked: str | None
    """Why nobody can go on with it."""
    cancelling: bool
    """Whether its end was requested."""
    attempts: int
    """How often it was claimed after its owner's death since its last commit."""
    forked_from: str | None
    """The run that it is a fork of."""
    forked_at: int | None
    """At which number of that one's history; null if it was forked where it stood."""


class DamagedRun(Output):
    """A run that cannot be read."""

    run_id: str
    """Its id."""
    reason: str
    """What was found."""


class RunPage(Output):
    """Runs that were found (`runs ls`)."""

    runs: list[RunRow]
    """The runs."""
    next: str | None
    """For ``--after``: where the next page begins; null if there is none."""
    previous: str | None
    """For ``--before``: where the page before ends; null if there is none."""
    damaged: list[DamagedRun]
    """Runs that cannot be read."""


class RunCounts(Output):
    """How many runs there are (`runs ls --counts`)."""

    total: int
    """In all."""
    by: Literal["status", "workflow"]
    """What they are counted by."""
    counts: dict[str, int]
    """How many of each."""
