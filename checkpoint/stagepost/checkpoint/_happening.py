"""What happens to a run that keeps all, as a commit says it."""

from enum import StrEnum
from typing import NamedTuple


class HappeningKind(StrEnum):
    """What something that happened to a run was about.

    The run itself (it began, was taken over after a crash, was resumed, migrated, has ended), an attempt at a step, at
    a fan-out as a whole or at one item of it, the items of a fan-out that were fixed, a wait, or a frame that was saved
    by somebody who has not said why.
    """

    RUN = "run"
    STEP = "step"
    FAN_OUT = "fan_out"
    ITEM = "item"
    ITEMS = "items"
    WAIT = "wait"
    FRAME = "frame"


class AttemptOutcome(StrEnum):
    """How an attempt at a step, a fan-out or an item has ended.

    ``waiting``: it has asked for something, and runs again once that has come. ``interrupted``: its process ended, or
    the runner was left, before it was saved; it was taken up again.
    """

    OK = "ok"
    FAILED = "failed"
    WAITING = "waiting"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class Happening(NamedTuple):
    """Something that a commit says about what has happened, or that something begins with it.

    Attributes:
        kind: What it is about.
        place: The step, fan-out or item, with its visits.
        outcome: How the attempt has ended; None: it begins.
        begun: When it began, in seconds since 1970; None if only the store knows.
        ended: When it ended.
        error: Why it failed.
        detail: JSON object with what else is known; the store does not look into it.
        value: JSON of what it has made, if no frame says that.
        of_frame: Whether the commit's frame is what it has made.
    """

    kind: HappeningKind
    place: str
    outcome: AttemptOutcome | None = None
    begun: float | None = None
    ended: float | None = None
    error: str | None = None
    detail: bytes | None = None
    value: bytes | None = None
    of_frame: bool = False
