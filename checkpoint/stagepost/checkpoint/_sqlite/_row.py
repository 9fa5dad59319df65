"""Changes of one row, under the fence: what plain steps and items commit, and so nearly all that is ever written."""

import sqlite3

from .._codec import join_values
from .._records import Commit, Frame, Item, Keep
from ._fence import FENCE, Right, refusal
from ._rows import dump_refs, dump_visits

_INSERT_FRAME = f"""
INSERT INTO frames (rk, path, seq, next, visits, width, state, refs) SELECT ?, ?, ?, ?, ?, ?, ?, ?
WHERE {FENCE} ON CONFLICT DO NOTHING
"""
UPDATE_FRAME = f"""
UPDATE frames SET seq = ?, next = ?, visits = ?, width = ?, state = ?, refs = ?
WHERE rk = ? AND path = ? AND seq = ? AND {FENCE}
"""
_INSERT_ITEM = f"""
INSERT INTO items (rk, path, visit, idx, status, input) SELECT ?, ?, ?, ?, 'waiting', ?
WHERE {FENCE} ON CONFLICT DO NOTHING
"""
UPDATE_ITEM = f"""
UPDATE items SET status = ?, value = ?, error = ?
WHERE rk = ? AND path = ? AND visit = ? AND idx = ? AND status = 'waiting' AND {FENCE}
"""


class RowChange:
    """One statement that changes one row, or is refused and changes nothing.

    Attributes:
        text: The statement.
        values: What is bound to it.
        right: What it is done by.
        path: The frame or item, for the refusal.
        expected: What the row should have been.
    """

    __slots__ = ("expected", "path", "right", "text", "values")

    def __init__(self, text: str, values: tuple[object, ...], right: Right, path: str, expected: str) -> None:
        self.text = text
        self.values = values
        self.right = right
        self.path = path
        self.expected = expected

    def __call__(self, connection: sqlite3.Connection) -> None:
        """Change the row.

        Raises:
            CheckpointError: It is not what was expected, or the run no longer ours to change.
        """
        if connection.execute(self.text, self.values).rowcount != 1:
            raise refusal(connection, self.right, self.path, self.expected)


def only_row(change: Commit) -> RowChange | None:
    """The one row that a commit changes; None if it changes more."""
    if change.lease.keep is Keep.ALL or change.frozen or change.values or change.effects or change.settles:
        return None
    if change.ended is not None or change.joined is not None or change.closing is not None:
        return None
    if change.frame is not None:
        return None if change.outcomes else frame_row(Right(change.lease), change.frame)
    return outcome_row(Right(change.lease), change.outcomes[0]) if len(change.outcomes) == 1 else None


def frame_row(right: Right, frame: Frame) -> RowChange:
    """A new version of a frame."""
    lease, cancelled = right
    refs, path, before = frame.refs, frame.path, frame.seq - 1
    state = {key: data for key, data in frame.state.items() if key not in refs} if refs else frame.state
    content = (frame.next, dump_visits(frame.visits), frame.width, join_values(state), dump_refs(refs))
    values: tuple[object, ...]
    if before == 0:
        text, values = _INSERT_FRAME, (lease.row, path, 1, *content, lease.row, lease.epoch, cancelled)
    else:
        key = (lease.row, path, before)
        text, values = UPDATE_FRAME, (frame.seq, *content, *key, lease.row, lease.epoch, cancelled)
    return RowChange(text, values, right, path, f"at version {before}")


def frozen_row(right: Right, item: Item) -> RowChange:
    """An item that waits for its worker."""
    values = (right.lease.row, item.path, item.visit, item.idx, item.input, *right.fence)
    return RowChange(_INSERT_ITEM, values, right, f"{item.path}[{item.idx}]", "unknown")


def outcome_row(right: Right, item: Item) -> RowChange:
    """What became of an item that has waited."""
    key = (right.lease.row, item.path, item.visit, item.idx)
    values = (item.status.value, item.value, readable(item.error), *key, *right.fence)
    return RowChange(UPDATE_ITEM, values, right, f"{item.path}[{item.idx}]", "waiting")


def readable(error: str | None) -> str | None:
    """An error's text, which may quote bytes that are no Unicode (names of files do), as text that can be stored."""
    return None if error is None else error.encode(errors="backslashreplace").decode()
