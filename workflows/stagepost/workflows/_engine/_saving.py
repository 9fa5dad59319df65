"""Telling those who listen to a run what a branch has committed."""

from time import time

from .._listening._room import Room
from .._listening._saved import Saved
from .._plans._plan import Position
from .._values._append import Elements
from .._values._state import Stored, Values


def tell_begun(room: Room, run_id: str, seq: int, values: Values, position: Position) -> None:
    """Tell those who follow the run step by step what it begins with, if they have come before that.

    Args:
        room: Those who listen.
        run_id: The run.
        seq: Number of its first frame.
        values: What it begins with.
        position: Where it begins.
    """
    if room.is_followed:
        saved = _saved(seq, values=({}, values), positions=(None, position), width=None)
        room.committed(run_id, saved._replace(changed={**_empty_lists(values), **saved.changed}))


def tell_saved(
    room: Room,
    run_id: str,
    path: str,
    seq: int,
    *,
    values: tuple[Values, Values],
    positions: tuple[Position, Position],
    width: int | None = None,
) -> None:
    """Ring, and tell those who follow the run step by step what has changed.

    Args:
        room: Those who listen.
        run_id: The run.
        path: Path of the branch.
        seq: Number of the frame that was committed.
        values: What the branch had written before, and now.
        positions: Where it stood before, and stands now.
        width: How many items the fan-out there has, once they are frozen.
    """
    if path:
        room.ring()
    else:
        room.committed(
            run_id, _saved(seq, values=values, positions=positions, width=width) if room.is_followed else None
        )


def _saved(
    seq: int, *, values: tuple[Values, Values], positions: tuple[Position | None, Position], width: int | None
) -> Saved:
    (before, own), (stood, position) = values, positions
    changed, added = dict[str, bytes](), dict[str, tuple[bytes, ...]]()
    for key, value in own.items():
        old = before.get(key)
        if old is value:
            continue
        if isinstance(value, Elements) and (old is None or isinstance(old, Elements)):
            added[key] = tuple(value.parts[0 if old is None else old.length :])
        elif not _is_same(value, old):
            changed[key] = value.data
    more = {key: parts for key, parts in added.items() if parts}
    return Saved(seq, None if stood is None else stood.next, changed, more, position.next, width, time())


def _empty_lists(values: Values) -> dict[str, bytes]:
    return {key: value.data for key, value in values.items() if isinstance(value, Elements) and not value.length}


def _is_same(value: Stored, old: Stored | None) -> bool:
    return old is not None and old.data == value.data
