"""Ids of runs and of what they wait for."""

import secrets
import time
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from stagepost.checkpoint import Snapshot, StoredWait, WaitKind, WaitStatus

_ASKS: Final = ":"  # no name and no path can contain it


def new_run_id() -> str:
    """An id that sorts by the time it was made: milliseconds since 1970 and 40 random bits, in hexadecimal."""
    return f"{time.time_ns() // 1_000_000:012x}-{secrets.token_hex(5)}"


def wait_id_of(run_id: str, wait: StoredWait) -> str:
    """A wait's id: its run, its place, and what is asked there if the place does not say it.

    A step may ask one thing after the other, and an answer to the first must be none to the second.
    """
    says_it = wait.place.partition("#")[0].rpartition("/")[2] == wait.name
    is_asked = wait.kind is WaitKind.ANSWER and not says_it
    return f"{run_id}/{wait.place}{_ASKS}{wait.name}" if is_asked else f"{run_id}/{wait.place}"


def read_wait_id(wait_id: str) -> tuple[str, str, str]:
    """The run, the place, and what is asked, if the id says it."""
    run_id, _, question = wait_id.partition("/")
    place, _, name = question.partition(_ASKS)
    return run_id, place, name


def open_waits(snapshot: Snapshot) -> Sequence[str]:
    """Ids of the waits that a run is parked at."""
    waits = sorted((wait for wait in snapshot.waits if wait.status is WaitStatus.OPEN), key=attrgetter("place"))
    return tuple(wait_id_of(snapshot.run.run_id, wait) for wait in waits)
