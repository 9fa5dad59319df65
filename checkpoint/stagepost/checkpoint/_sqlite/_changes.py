"""A commit as the rows that it changes, known before anything is done, so that many commits can be done together."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

from .._records import Commit, Joined, Lease, RunStatus
from ._fence import Right, check_held
from ._row import (
    RowChange,
    blob_rows,
    closing_row,
    effect_row,
    frame_row,
    frozen_row,
    outcome_row,
    value_rows,
)

DELETE_FRAME = "DELETE FROM frames WHERE rk = ? AND path = ?"
DELETE_VALUES = "DELETE FROM vals WHERE rk = ? AND path = ?"
DELETE_ITEMS = "DELETE FROM items WHERE rk = ? AND path = ? AND visit = ?"
DELETE_BELOW = (
    *(f"DELETE FROM {table} WHERE rk = ? AND path > ? AND path < ?" for table in ("frames", "items", "vals")),
    "DELETE FROM waits WHERE rk = ? AND place > ? AND place < ? AND status = 'open'",  # the others count as heard
)
_NOTHING_ELSE: Final = Commit(Lease("", 0, 0))[2:]
SETTLE = "UPDATE runs SET attempts = 0 WHERE rk = ?"


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


def changes_of(commit: Commit, now: Callable[[], int]) -> Changes | RowChange:
    """What a commit changes beside the history.

    Args:
        commit: The commit.
        now: Tells the time.
    """
    if commit.frame is not None and commit[2:] == _NOTHING_ELSE:  # of a plain step, which is worth a look
        return frame_row(Right(commit.lease), commit.frame)
    closing = commit.closing
    right = Right(commit.lease, int(closing is not None and closing.status is RunStatus.CANCELLED))
    rows = [] if commit.frame is None else [frame_row(right, commit.frame)]
    if commit.frozen:
        rows += [frozen_row(right, item) for item in commit.frozen]
    if commit.outcomes:
        rows += [outcome_row(right, item) for item in commit.outcomes]
    if commit.ended is not None or commit.joined is not None:
        rows += _deletions(right, commit.ended, commit.joined)
    for value in commit.values:
        rows += value_rows(right, value)
    if commit.effects:
        rows += [effect_row(right, effect) for effect in commit.effects]
    if commit.blobs:
        rows += blob_rows(right, commit.blobs)
    if commit.settles:
        rows.append(RowChange(SETTLE, (right.lease.row,), right))
    if closing is not None:
        rows.append(closing_row(right, closing, now()))
    return rows[0] if len(rows) == 1 and rows[0].expected is not None else Changes(right, rows)


def _deletions(right: Right, ended: str | None, joined: Joined | None) -> Sequence[RowChange]:
    rows = []
    if ended is not None:
        rows += [RowChange(text, (right.lease.row, ended), right) for text in (DELETE_FRAME, DELETE_VALUES)]
    if joined is not None:
        rows += _join(right, joined)
    return rows


def _join(right: Right, joined: Joined) -> Sequence[RowChange]:
    """Delete the items of a fan-out and whatever is left below them: paths that start with ``path[``.

    Items that failed, or that nobody wants any more, leave frames and items of their own, and questions.
    """
    items = RowChange(DELETE_ITEMS, (right.lease.row, joined.path, joined.visit), right)
    below = (right.lease.row, f"{joined.path}[", f"{joined.path}\\")  # the character behind "["
    return [items, *(RowChange(text, below, right) for text in DELETE_BELOW)]
