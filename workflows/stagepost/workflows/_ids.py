"""How runs, their children, their steps and what they wait for are named."""

import secrets
import time
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from stagepost.checkpoint import Snapshot, StoredWait, WaitKind, WaitStatus
from stagepost.hub import check_name

LONGEST: Final = 1_000
"""Characters that a text may have which is stored beside a run: it stands in indexes, lists and errors."""
_ASKS: Final = ":"  # no name and no path can contain it
_DOT: Final = "."  # in no name, so that no other run has the id of a child


def new_run_id() -> str:
    """An id that sorts by the time it was made: milliseconds since 1970 and 40 random bits, in hexadecimal."""
    return f"{time.time_ns() // 1_000_000:012x}-{secrets.token_hex(5)}"


def child_id(run_id: str, key: str) -> str:
    """Id of a run's child.

    Raises:
        ValueError: The key is no name.
    """
    return f"{run_id}{_DOT}{check_name('key', key)}"


def is_child(run_id: str) -> bool:
    """Whether a step of another run has started the run."""
    return _DOT in run_id


def root_of(run_id: str) -> str:
    """The outermost run around a run: itself, if no step has started it."""
    return run_id.partition(_DOT)[0]


def is_within(run_id: str, outer: str) -> bool:
    """Whether a run is another one, or one that steps of that one have started, or steps of such runs."""
    return run_id == outer or run_id.startswith(below(outer))


def below(run_id: str) -> str:
    """What the ids of all runs begin with that the steps of a run have started, or the steps of those, and so on."""
    return f"{run_id}{_DOT}"


def place_of(path: str, visits: Sequence[int]) -> str:
    """A step's path with its visits, if there are any.

    Args:
        path: The path from the run's root.
        visits: Which visits of the fan-outs around it, outermost first, and which of its graph node; 0 outside of
            graphs.
    """
    return path + (f"#{'.'.join(map(str, visits))}" if any(visits) else "")


def split_place(place: str) -> tuple[str, tuple[int, ...]]:
    """The path and the visits that `place_of` has made a place of; no visits if they are all 0."""
    path, _, visits = place.partition("#")
    return path, tuple(map(int, visits.split("."))) if visits else ()


def wait_id_of(run_id: str, wait: StoredWait) -> str:
    """A wait's id: its run, its place, and what is asked there if the place does not say it.

    A step may ask one thing after the other, and an answer to the first must be none to the second.
    """
    return asked_wait_id(run_id, wait.place, wait.kind, wait.name)


def asked_wait_id(run_id: str, place: str, kind: WaitKind, name: str) -> str:
    """The same, by what is known of the wait."""
    says_it = place.partition("#")[0].rpartition("/")[2] == name
    is_asked = kind is WaitKind.ANSWER and not says_it
    return f"{run_id}/{place}{_ASKS}{name}" if is_asked else f"{run_id}/{place}"


def read_wait_id(wait_id: str) -> tuple[str, str, str]:
    """The run, the place, and what is asked, if the id says it."""
    run_id, _, question = wait_id.partition("/")
    place, _, name = question.partition(_ASKS)
    return run_id, place, name


def open_waits(snapshot: Snapshot) -> Sequence[str]:
    """Ids of the waits that a run is parked at."""
    waits = sorted((wait for wait in snapshot.waits if wait.status is WaitStatus.OPEN), key=attrgetter("place"))
    return tuple(wait_id_of(snapshot.run.run_id, wait) for wait in waits)


def check_given(name: str, given: object, *, may_be_empty: bool = False) -> None:
    """See that something is a text that can be stored, or None.

    Args:
        name: What the parameter is called.
        given: What it was given.
        may_be_empty: Whether an empty text is one.

    Raises:
        TypeError: It is something else.
        ValueError: It is empty, too long, or has characters that are no Unicode.
    """
    if not isinstance(given, str | None):
        raise TypeError(f"{name}={given!r:.80}: give a text")
    if given is None:
        return
    if not (given or may_be_empty):
        raise ValueError(f"{name}='': give a text that is not empty, or None for no {name}")
    if len(given) > LONGEST:
        raise ValueError(
            f"{name}= has {len(given):,} characters, and at most {LONGEST:,} are taken: give a shorter text, such as a "
            "digest of this one"
        )
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}= has characters that are no Unicode: give a text without them") from None
