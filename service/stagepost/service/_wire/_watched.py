"""What becomes of a run, line by line."""

from datetime import datetime
from typing import Literal

from ._output import Output


class WatchEvent(Output):
    """A line of ``runs watch``, and of the progress of ``runs resume``; one JSON object per line."""

    event: Literal["at", "item", "wait", "wait_over", "child", "status"]
    """What has changed: the place where the run goes on, items that are done, a wait, a run that a step has started, or
    the run's status, which is the last line if the run has ended."""
    at: datetime
    """When it was saved, as far as that is stored; else when it was seen."""
    run_id: str
    """The run, or the one that a step of it has started."""
    place: str | None = None
    """The place where it goes on, or that of the fan-out or wait."""
    status: str | None = None
    """Of the run, or of the wait that is over."""
    done: int | None = None
    """How many items have ended."""
    total: int | None = None
    """How many items there are."""
    wait_id: str | None = None
    """The wait."""
    kind: str | None = None
    """What ends the wait."""
    name: str | None = None
    """Of the signal, or the effect's key."""
    by: str | None = None
    """Who has answered."""
    error: str | None = None
    """Why the run has failed."""
