"""What whoever listens to a run hears."""

from typing import NamedTuple


class Told(NamedTuple):
    """Something that a step tells while it runs, and that is stored nowhere.

    Attributes:
        run_id: The run of the step, possibly one that a step of the run has started that is listened to.
        place: The step.
        what: What it tells.
    """

    run_id: str
    place: str
    what: object


class Heard(NamedTuple):
    """What has come since somebody listened last.

    Attributes:
        told: What steps have told, in order. All of it came before the ring, if there is one.
        missed: How many were dropped before these, since too many had come at once.
        rung: Whether something more of the run may be stored now.
    """

    told: tuple[Told, ...]
    missed: int
    rung: bool
