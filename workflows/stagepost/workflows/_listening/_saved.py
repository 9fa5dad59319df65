"""What those hear of a run's commits who follow it step by step."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stagepost.checkpoint import Item


class Saved(NamedTuple):
    """One commit of a run's root frame.

    Attributes:
        seq: Number of the frame that it has written.
        step: Path of the place that has made it; None for the frame that the run begins with, all of which is told.
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


class SavedItem(NamedTuple):
    """One item of a fan-out of the run that has ended.

    Attributes:
        item: It, as it is saved.
        done: How many items of the fan-out have ended.
        total: How many it has.
        at: When, in seconds since 1970.
    """

    item: Item
    done: int
    total: int
    at: float
