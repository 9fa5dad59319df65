"""What pages show of a run beside what everybody is told."""

from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from ._output import Output


class StateAt(Output):
    """The state of a run as it was."""

    number: int
    """At which number of its history; 0 for what it was started with."""
    state: dict[str, JsonValue]
    """The state."""


class WaitSchema(Output):
    """What a wait takes."""

    known: dict[str, JsonValue] | None
    """JSON schema of the value; null if any JSON value will do, or nobody here knows."""


class ActRow(Output):
    """Something that somebody has done to a run."""

    at: datetime
    """When."""
    act: Literal["settle", "cancel", "resume", "fork", "retry_items", "delete", "resend"]
    """What."""
    by: str
    """The name of the key with which it was done."""
    run_id: str
    """The run; of a dead letter that was sent again, the id of its message."""
    note: str
    """What came of it, such as the id of a new run."""


class ActList(Output):
    """What was done to a run, and by whom."""

    acts: list[ActRow]
    """The last ones, the newest first."""
