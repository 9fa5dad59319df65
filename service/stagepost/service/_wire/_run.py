"""All that is stored of one run."""

from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from ._output import Output
from ._runs import RunRow
from ._waits import WaitRow


class FrameRow(Output):
    """A branch of a run: where it stands."""

    path: str
    """Which branch; empty for the run itself."""
    next: str | None
    """Path of the place where it goes on; null at its end."""
    saves: int
    """How often it was saved."""
    saved_at: datetime | None
    """When it was saved last."""


class FanOutRow(Output):
    """A fan-out under way."""

    path: str
    """Its path."""
    total: int
    """How many items it has."""
    ok: int
    """How many are done."""
    failed: int
    """How many have failed."""


class SignalRow(Output):
    """A signal that was sent to a run."""

    number: int
    """Its place among the signals of the run."""
    name: str
    """Its name."""
    value: JsonValue
    """What it carries."""


class EffectRow(Output):
    """Something that a run has done to the world outside."""

    place: str
    """The step."""
    key: str
    """Its key."""
    status: Literal["intent", "done", "undone"]
    """``intent``: it was begun, and nobody knows yet whether it has happened."""
    value: JsonValue
    """What it returned."""


class RunShown(Output):
    """All that is stored of a run (`runs show`)."""

    run: RunRow
    """What is known of it."""
    traceback: str | None
    """Traceback of the error that it failed with."""
    keep: str
    """What stays of it."""
    input: JsonValue
    """What it was started with."""
    state: dict[str, JsonValue]
    """Its state."""
    next: str | None
    """Path of the place where it goes on; null at its end."""
    branches: list[FrameRow]
    """Branches of it under way, itself first."""
    fan_outs: list[FanOutRow]
    """Fan-outs under way."""
    waits: list[WaitRow]
    """What it waits for; where it waits for other runs, what those wait for."""
    signals: list[SignalRow]
    """Signals that it was sent, at most 100."""
    effects: list[EffectRow]
    """What it has done to the world outside."""
    owner: str | None
    """The process that owns the file at this moment."""
    output: JsonValue = None
    """What an agent has answered; null while it has not, of other workflows, and where the file alone is read."""
