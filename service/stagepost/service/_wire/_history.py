"""What has happened to a run."""

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict

from ._output import Output, RunStatusName


class HistoryRow(Output):
    """Something that has happened to a run; it has more fields, by its type, as `stagepost.workflows` describes."""

    model_config = ConfigDict(extra="allow")

    type: Literal["run", "attempt", "items", "wait", "frame", "child"]
    """What kind of entry it is."""
    number: int | None
    """Its place in the history, for ``--after`` and ``runs fork --at``; null of what is under way."""
    saved_at: datetime
    """When it was stored."""


class HistoryPage(Output):
    """What has happened to a run (`runs history`)."""

    run_id: str
    """The run."""
    workflow: str
    """Name of its workflow."""
    version: int
    """Version of the workflow."""
    status: RunStatusName
    """Where it stands."""
    is_complete: bool
    """Whether the run keeps its history; if not, the entries are what is still known of it."""
    items: list[HistoryRow]
    """What has happened, in the order in which it was stored."""
    under_way: list[HistoryRow]
    """What has begun and not ended, with the last page only."""
    next: str | None
    """For ``--after``: where the next page begins; null if there is none."""
