"""What runs wait for."""

from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from ._output import Output
from ._runs import DamagedRun


class WaitRow(Output):
    """Something that a run waits for."""

    wait_id: str
    """Its id, for ``runs answer``."""
    run_id: str
    """The run."""
    workflow: str
    """Name of its workflow."""
    place: str
    """The step that waits."""
    kind: Literal["answer", "signal", "timer", "child", "effect"]
    """What ends it."""
    name: str
    """Of the step, the signal, the other run, or the effect's key, by its kind."""
    shown: JsonValue
    """What whoever answers is shown."""
    opened_at: datetime
    """Since when it waits."""
    due_at: datetime | None
    """When it ends by itself."""
    blocked: str | None
    """Why its run cannot go on."""
    refused: str | None
    """Why the last answer was dropped."""


class WaitList(Output):
    """What runs wait for (`runs waits`)."""

    waits: list[WaitRow]
    """The waits, in the order of their ids."""
    next: str | None
    """For ``--after``: where the next page begins; null if there is none."""
    damaged: list[DamagedRun]
    """Runs of which a wait cannot be read."""
