"""What a runner does at this moment, in numbers."""

from stagepost._dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerStatistics:
    """The runs that a runner works on or is about to, without those that are parked.

    Attributes:
        running: Runs that are worked on.
        queued: Runs that wait for one of the ``max_running`` slots.
        in_line: Runs that wait for a `RunLimit`.
    """

    running: int
    queued: int
    in_line: int
