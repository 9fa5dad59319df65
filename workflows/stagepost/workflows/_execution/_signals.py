"""What the engine raises to itself. None of it is an error, and none of it reaches a caller."""

from datetime import datetime

from stagepost.checkpoint import WaitKind

from .._containment import Signal


class Stopping(Exception):
    """The runner is being left: no further step is to be started."""


class Parks(Signal):
    """A step cannot go on by itself: what it waits for is to be saved, and the step run again when that has come.

    Attributes:
        kind: What ends the wait.
        name: Of the step, the signal, the other run, or the effect's key, by its kind.
        prompt: JSON of what is shown to whoever answers.
        due_at: When it expires (UTC); None for never.
    """

    def __init__(
        self, kind: WaitKind, name: str, *, prompt: bytes | None = None, due_at: datetime | None = None
    ) -> None:
        super().__init__(kind, name)
        self.kind = kind
        self.name = name
        self.prompt = prompt
        self.due_at = due_at


class Left(Signal):
    """A step waits for a run that stays open and does not go on in this process, so neither does its own run.

    Attributes:
        error: Why not.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class Parked(Signal):
    """A branch, an item or the whole run rests until a wait ends; what it needs to go on is put aside."""
