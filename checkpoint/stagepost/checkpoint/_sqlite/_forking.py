"""Forks: new runs that begin where another one stands, or has stood, and share its lists and bytes."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .._outside import Ref
from .._records import Forked, Item, Keep, Lease, NewRun, SharedList
from ..errors import RunNotFound, StaleCheckpoint
from ._changes import RowChange, effect_row, frame_row
from ._continuing import ListPlace, go_on
from ._fence import Right
from ._happened import version_row

_ORIGIN: Final = "SELECT 1 FROM runs WHERE run_id = ? AND rk = ?"
_REFERS: Final = "SELECT 1 FROM list_refs WHERE rk = ? AND path = ? AND maker = ? AND number = ?"
_SET_ORIGIN: Final = "UPDATE runs SET forked_from = ?, forked_at = ? WHERE rk = ?"
_INSERT_ITEM: Final = """
INSERT INTO items (rk, path, visit, idx, status, input, value, error, saved_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SHARE_BLOBS: Final = """
WITH RECURSIVE lists_of (maker, number) AS (
  SELECT maker, number FROM list_refs WHERE rk = ?1
  UNION
  SELECT base_maker, base_number FROM lists_of JOIN lists USING (maker, number) WHERE base_maker IS NOT NULL
)
INSERT OR IGNORE INTO blob_refs (rk, digest)
SELECT ?2, digest FROM blob_refs WHERE rk = ?1
UNION SELECT ?2, digest FROM lists_of JOIN element_blobs USING (maker, number)
"""


def fork_lists(connection: sqlite3.Connection, row: int, run: NewRun) -> NewRun:
    """Let the lists of a fork begin with those of the other run.

    Args:
        connection: The connection; the fork is stored, its frames are not.
        row: The store's own key of the fork.
        run: The fork, or any other new run, which stays as it is.

    Returns:
        It, with the lists that its frames refer to.

    Raises:
        RunNotFound: The other run was deleted.
        StaleCheckpoint: That one refers to another list by now.
    """
    forked = run.forked
    if forked is None:
        return run
    if connection.execute(_ORIGIN, (forked.run_id, forked.row)).fetchone() is None:
        raise RunNotFound(forked.run_id)
    frames = {frame.path: frame for frame in (run.root, *forked.frames)}
    for shared in forked.lists:
        frame = frames[shared.path]
        ref = _share(connection, row, forked, shared, frame.refs[shared.key])
        frames[shared.path] = frame._replace(refs={**frame.refs, shared.key: ref})
    root = frames.pop("")
    return replace(run, root=root, forked=replace(forked, frames=tuple(frames.values())))


def fork_rows(lease: Lease, forked: Forked, now: int) -> Sequence[RowChange]:
    """What a fork has beside what every new run has.

    Args:
        lease: That of the fork.
        forked: What it begins with.
        now: The time.
    """
    right = Right(lease)
    rows = [RowChange(_SET_ORIGIN, (forked.run_id, forked.number, lease.row), right)]
    for frame in forked.frames:
        rows.append(frame_row(right, frame, now))
        if lease.keep is Keep.ALL:
            rows.append(RowChange(*version_row(lease, frame.path, now), right))
    rows += [_item_row(right, item, now) for item in forked.items]
    rows += [effect_row(right, effect) for effect in forked.effects]
    rows.append(RowChange(_SHARE_BLOBS, (forked.row, lease.row), right))
    return rows


def _share(connection: sqlite3.Connection, row: int, forked: Forked, shared: SharedList, own: Ref) -> Ref:
    place = ListPlace(shared.theirs.maker or forked.row, shared.theirs.number)
    if connection.execute(_REFERS, (forked.row, shared.path, *place)).fetchone() is None:
        raise StaleCheckpoint(forked.run_id, shared.path, f"with the list {shared.key!r} that was read")
    return go_on(connection, (row, shared.path), own, place, shared.theirs.length or 0)


def _item_row(right: Right, item: Item, now: int) -> RowChange:
    about = (item.path, item.visit, item.idx, item.status.value, bytearray(item.input), item.value, item.error)
    return RowChange(_INSERT_ITEM, (right.lease.row, *about, now), right)
