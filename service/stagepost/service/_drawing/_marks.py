"""How places stand: the marks that a picture shows by colour and sign."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple


class Mark(StrEnum):
    """How a place stands; of several things that stand there, the last in this order is shown."""

    AHEAD = "ahead"
    DONE = "done"
    RETRIED = "retried"
    CANCELLED = "cancelled"
    RUNNING = "running"
    WAITING = "waiting"
    FAILED = "failed"


WORDS: Final[Mapping[Mark, str]] = MappingProxyType(
    {
        Mark.AHEAD: "not reached",
        Mark.DONE: "done",
        Mark.RETRIED: "done after tries that failed",
        Mark.CANCELLED: "cancelled",
        Mark.RUNNING: "running",
        Mark.WAITING: "waiting",
        Mark.FAILED: "failed",
    }
)
TALLIED: Final = (*[mark for mark in Mark if mark is not Mark.AHEAD], Mark.AHEAD)
"""The order in which several are counted: what there is, and at last what there is not yet."""
_ORDER: Final = {mark: number for number, mark in enumerate(Mark)}


def strongest(marks: Iterable[Mark]) -> Mark:
    """What is shown of several."""
    return max(marks, key=_ORDER.__getitem__, default=Mark.AHEAD)


class Standing(NamedTuple):
    """How a place stands.

    Attributes:
        mark: In a word.
        tries: How often it was tried the last time that the run came by, as far as is known.
        visits: How often the run came by; 0 if nobody has counted.
        error: Why it has failed.
        children: How many runs it has started.
    """

    mark: Mark = Mark.AHEAD
    tries: int = 1
    visits: int = 0
    error: str | None = None
    children: int = 0
