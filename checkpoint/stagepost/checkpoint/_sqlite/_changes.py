"""A commit as the rows that it changes, known before anything is done, so that many commits can be done together."""

import sqlite3
from collections.abc import Sequence
from typing import Final

from .._records import Commit, Joined, Keep, Lease, RunStatus
from ._fence import Right, check_held
from ._row import (
    RowChange,
    blob_rows,
    closing_row,
    dropped_row,
    effect_row,
    element_blob_rows,
    frame_row,
    frozen_row,
    outcome_row,
    value_rows,
    version_row,
)

DELETE_FRAME = "DELETE FROM frames WHERE rk = ? AND path = ?"
DELETE_VALUES = tuple(f"DELETE FROM {table} WHERE rk = ? AND path = ?" for table in ("vals", "list_refs"))
DELETE_ITEMS = "DELETE FROM items WHERE rk = ? AND path = ? AND visit = ?"
DELETE_BELOW = (
    *(f"DELETE FROM {table} WHERE rk = ? AND path > ? AND path < ?" for table in ("frames", "items")),
    "DELETE FROM waits WHERE rk = ? AND place > ? AND place < ? AND status = 'open'",  # the others count as heard
)
DELETE_VALUES_BELOW = tuple(
    f"DELETE FROM {table} WHERE rk = ? AND path > ? AND path < ?" for table in ("vals", "list_refs")
)
PROGRESS = "UPDATE runs SET attempts = 0 WHERE rk = ?"

_NOTHING_ELSE: Final = Commit(Lease("", 0, 0))[2:]
_ALL: Final = Keep.ALL  # to look up a member of an enum takes long for what each step does


class Changes:
    """What a commit changes: all of it, or it is refused and changes nothing.

    Attributes:
        rows: The rows, in the order in which they are changed.
        is_fenced: Whether one of them is refused where the run is no longer ours to change.
    """

    __slots__ = ("_right", "is_fenced", "rows")

    def __init__(self, right: Right, rows: Sequence[RowChange]) -> None:
        self.rows = rows
        self.is_fenced = any(row.expected is not None for row in rows)
        self._right = right

    def __call__(self, connection: sqlite3.Connection) -> None:
        """Change them, inside of a savepoint.

        Raises:
            CheckpointError: A row is not what was expected, or the run no longer ours to change.
        """
        if not self.is_fenced:
            check_held(connection, self._right)
        for row in self.rows:
            row(connection)


def changes_of(commit: Commit, now: int) -> Changes | RowChange:
    """What a commit changes in the store's own tables."""
    lease = commit.lease
    if commit.frame is not None and commit[2:] == _NOTHING_ELSE and lease.keep is not _ALL:
        return frame_row(Right(lease), commit.frame, now)  # of a plain step, which is worth a look
    closing = commit.closing
    right = Right(commit.lease, int(closing is not None and closing.status is RunStatus.CANCELLED))
    rows = [] if commit.frame is None else [frame_row(right, commit.frame, now)]
    if commit.frozen:
        rows += [frozen_row(right, item, now) for item in commit.frozen]
    if commit.outcomes:
        rows += [outcome_row(right, item, now) for item in commit.outcomes]
    if commit.ended is not None or commit.joined is not None:
        rows += _deletions(right, commit.ended, commit.joined)
    if commit.values or commit.dropped or commit.blobs:
        rows += _outside(right, commit, now)
    if commit.effects:
        rows += [effect_row(right, effect) for effect in commit.effects]
    if commit.progresses:
        rows.append(RowChange(PROGRESS, (right.lease.row,), right))
    if commit.lease.keep is _ALL and commit.frame is not None:
        rows.append(version_row(right, commit.frame))
    if closing is not None:
        rows.append(closing_row(right, closing, now))
    return rows[0] if len(rows) == 1 and rows[0].expected is not None else Changes(right, rows)


def _outside(right: Right, commit: Commit, now: int) -> Sequence[RowChange]:
    """Values outside of the frame. What it no longer refers to goes, unless the history does."""
    rows: list[RowChange] = []
    if commit.lease.keep is not _ALL:
        path = "" if commit.frame is None else commit.frame.path
        rows += [dropped_row(right, path, ref) for ref in commit.dropped]
    for value in commit.values:
        rows += value_rows(right, value, now)
    if commit.blobs:
        rows += blob_rows(right, commit.blobs)
        rows += element_blob_rows(right, commit.values)
    return rows


def _deletions(right: Right, ended: str | None, joined: Joined | None) -> Sequence[RowChange]:
    rows, has_history = [], right.lease.keep is _ALL
    if ended is not None:
        texts = (DELETE_FRAME,) if has_history else (DELETE_FRAME, *DELETE_VALUES)
        rows += [RowChange(text, (right.lease.row, ended), right) for text in texts]
    if joined is not None:
        rows += _join(right, joined, has_history=has_history)
    return rows


def _join(right: Right, joined: Joined, *, has_history: bool) -> Sequence[RowChange]:
    """Delete the items of a fan-out and whatever is left below them: paths that start with ``path[``.

    Items that failed, or that nobody wants any more, leave frames and items of their own, and questions.
    """
    items = RowChange(DELETE_ITEMS, (right.lease.row, joined.path, joined.visit), right)
    below = (right.lease.row, f"{joined.path}[", f"{joined.path}\\")  # the character behind "["
    texts = DELETE_BELOW if has_history else (*DELETE_BELOW, *DELETE_VALUES_BELOW)
    return [items, *(RowChange(text, below, right) for text in texts)]
