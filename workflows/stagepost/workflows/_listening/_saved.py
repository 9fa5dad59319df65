"""What a listener hears of a commit that follows it step by step."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Saved(NamedTuple):
    """One commit of a run's root frame.

    Attributes:
        seq: Number of the frame that it has written.
        step: Path of the place that has made it; None if the run has only begun to stand somewhere.
        changed: JSON of the keys that are other than before.
        added: JSON of the elements that were added to lists that only grow, by key.
        next: Where the run goes on; None at its end.
        width: How many items the fan-out there has, once they are frozen.
        at: When, in seconds since 1970.
    """

    seq: int
    step: str | None
    changed: Mapping[str, bytes]
    added: Mapping[str, Sequence[bytes]]
    next: str | None
    width: int | None
    at: float
