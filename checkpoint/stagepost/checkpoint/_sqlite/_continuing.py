"""Lists of a new run that begin with those of older ones.

The run that has begun a list appends to it, and when that run has ended for good, whoever goes on from the list's end
does: so a conversation of many runs is one list. Whoever goes on from elsewhere, or from a run that may append itself,
gets a list of its own, which refers to the first one up to a length.
"""

import sqlite3
from collections.abc import Sequence
from typing import Final, NamedTuple

from .._outside import Continued, Ref, StoredValue
from .._records import Frame, NewRun
from ..errors import ListTooShort, RunNotFound
from ._rows import to_refs

_ROOT: Final = "SELECT rk, refs FROM runs LEFT JOIN frames USING (rk) WHERE run_id = ? AND path = ''"
_IS_TAKEN: Final = """
SELECT 1 FROM elements WHERE maker = ? AND number = ? AND idx >= ?
UNION ALL
SELECT 1 FROM list_refs JOIN runs USING (rk)
WHERE maker = ? AND number = ? AND length IS NULL AND status NOT IN ('completed', 'cancelled')
"""
_HAND_OVER: Final = "UPDATE list_refs SET length = ? WHERE maker = ? AND number = ? AND length IS NULL"
_APPEND: Final = "INSERT INTO list_refs (rk, path, maker, number) VALUES (?, ?, ?, ?)"
_BASE: Final = "SELECT base_maker, base_number FROM lists WHERE maker = ? AND number = ? AND base_length >= ?"
_BRANCH: Final = "INSERT INTO lists (maker, number, base_maker, base_number, base_length) VALUES (?, ?, ?, ?, ?)"


class ListPlace(NamedTuple):
    """Which list."""

    maker: int
    number: int


def continue_lists(connection: sqlite3.Connection, row: int, run: NewRun) -> tuple[Frame, Sequence[StoredValue]]:
    """Let the lists of a new run begin with those of others.

    Args:
        connection: The connection; the run is stored, its frame is not.
        row: The store's own key of the run.
        run: The run.

    Returns:
        Its root frame and the values beside it, with the lists that they belong to.

    Raises:
        RunNotFound: There is no such other run.
        ListTooShort: It has not so many elements.
    """
    frame, values = run.root, run.values
    for key, continued in run.continued.items():
        place = _place(connection, key, continued)
        if place is not None:
            own = frame.refs[key]
            ref = go_on(connection, (row, ""), own, place, continued.length)
            frame = frame._replace(refs={**frame.refs, key: ref})
            values = [_moved(value, own, ref) for value in values]
    return frame, values


def _place(connection: sqlite3.Connection, key: str, continued: Continued) -> ListPlace | None:
    """Where the elements are; None if there are none to begin with."""
    found = connection.execute(_ROOT, (continued.run_id,)).fetchone()
    if found is None:
        raise RunNotFound(continued.run_id)
    row, refs = found
    number, length, maker = to_refs(refs).get(key, Ref(0, 0))
    if not 0 <= continued.length <= (length or 0):
        raise ListTooShort(continued.run_id, key, continued.length, length or 0)
    return ListPlace(maker or row, number) if continued.length else None


def go_on(connection: sqlite3.Connection, frame: tuple[int, str], own: Ref, place: ListPlace, length: int) -> Ref:
    """Let a list of a new run begin with elements of another list.

    Args:
        connection: The connection.
        frame: The store's own key of the new run, and the path of the frame that refers to the list.
        own: Where the list would be if it were one of the run's own.
        place: The other list.
        length: How many of its elements.

    Returns:
        Where the list is: it is the other one, where nobody else appends to that at this length.
    """
    row, path = frame
    if connection.execute(_IS_TAKEN, (*place, length, *place)).fetchone() is None:
        connection.execute(_HAND_OVER, (length, *place))
        connection.execute(_APPEND, (row, path, *place))
        return Ref(place.number, own.length, place.maker)
    while (base := connection.execute(_BASE, (*place, length)).fetchone()) is not None and base[0] is not None:
        place = ListPlace(*base)
    connection.execute(_BRANCH, (row, own.number, *place, length))
    connection.execute(_APPEND, (row, path, row, own.number))
    return own


def _moved(value: StoredValue, own: Ref, ref: Ref) -> StoredValue:
    return value._replace(maker=ref.maker, number=ref.number) if value.number == own.number else value
