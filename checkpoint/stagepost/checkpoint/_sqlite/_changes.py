"""A commit as the rows that it changes, known before anything is done, so that many commits can be done together.

Most changes are refused unless the row is what it should be and the run ours to change: the fence stands in the
statement. The others follow one of these in the same commit, and are undone with it.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

from .._outside import Ref, StoredValue
from .._plain import joined
from .._records import Closing, Commit, Frame, Item, Joined, Keep, Lease, RunStatus, Shape
from .._waiting import Effect, EffectStatus
from ._error_words import index_errors
from ._failure import failure_text, readable
from ._fence import FENCE, UNTOLD, Right, check_held, refusal
from ._happened import Row, closed_row, happened_rows
from ._rows import dump_refs, dump_visits

_ALL_NEWS: Final = (1 << 63) - 1

# Python's sqlite3 looks for an adapter of each value that is not just an int, float, str or bytearray. For NULL and
# bytes that takes half a microsecond, so what is written at every step is spared it.
INSERT_FRAME = f"""
INSERT INTO frames (rk, path, seq, next, visits, width, state, refs, saved_at)
SELECT ?, ?, ?, ?, nullif(?, ''), nullif(?, -1), ?, nullif(?, ''), ?
WHERE {FENCE} ON CONFLICT DO NOTHING
"""
UPDATE_FRAME = f"""
UPDATE frames SET
  seq = ?, next = ?, visits = nullif(?, ''), width = nullif(?, -1), state = ?, refs = nullif(?, ''), saved_at = ?
WHERE rk = ? AND path = ? AND seq = ? AND {FENCE}
"""
INSERT_ITEM = f"""
INSERT INTO items (rk, path, visit, idx, status, input, saved_at) SELECT ?, ?, ?, ?, 'waiting', ?, ?
WHERE {FENCE} ON CONFLICT DO NOTHING
"""
UPDATE_ITEM = f"""
UPDATE items SET status = ?, value = ?, error = ?, saved_at = ?
WHERE rk = ? AND path = ? AND visit = ? AND idx = ? AND status = 'waiting' AND {FENCE}
"""
WRITE_EFFECT = f"""
INSERT OR REPLACE INTO effects (rk, place, key, status, value, note, number)
SELECT ?, ?, ?, ?, ?, ?, (SELECT max(number) FROM history WHERE rk = ?) WHERE {FENCE}
"""
CLOSE = """
UPDATE runs SET status = ?, error = ?, finished_at = max(?, created_at) -- clocks are set back at times
WHERE rk = ? AND epoch = ? AND cancelling <= ? AND status = 'running' AND news <= ?
"""

INSERT_VALUE = "INSERT INTO vals (rk, path, number, value, saved_at) VALUES (?, ?, ?, ?, ?)"
DROP_VALUE = "DELETE FROM vals WHERE rk = ? AND path = ? AND number = ?"
BEGIN_LIST = "INSERT INTO lists (maker, number) VALUES (?, ?)"
OWN_LIST = "INSERT INTO list_refs (rk, path, maker, number) VALUES (?, ?, ?, ?)"
DROP_LIST = "DELETE FROM list_refs WHERE rk = ? AND path = ? AND maker = ? AND number = ?"
INSERT_ELEMENT = "INSERT INTO elements (maker, number, idx, value, saved_at) VALUES (?, ?, ?, ?, ?)"
REFER_FROM = """
INSERT OR IGNORE INTO element_blobs (maker, number, idx, digest)
SELECT ?, ?, ?, digest FROM blobs WHERE digest = ?
"""
DELETE_EFFECT = "DELETE FROM effects WHERE rk = ? AND place = ? AND key = ?"
INSERT_BLOB = "INSERT OR IGNORE INTO blobs (digest, value) VALUES (?, ?)"
REFER = "INSERT OR IGNORE INTO blob_refs (rk, digest) SELECT ?, digest FROM blobs WHERE digest = ?"
INSERT_SHAPE = "INSERT OR IGNORE INTO shapes (id, workflow, version, skeleton) VALUES (?, ?, ?, ?)"
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
KEEP_ITEMS = """
INSERT INTO past_items (rk, path, joined, visit, idx, status, input, value, error, saved_at)
SELECT rk, path, (SELECT max(number) + 1 FROM history WHERE rk = ?), visit, idx, status, input, value, error, saved_at
FROM items WHERE rk = ? AND ((path = ? AND visit = ?) OR (path > ? AND path < ?))
"""
PROGRESS = "UPDATE runs SET attempts = 0 WHERE rk = ?"

_NOTHING_ELSE: Final = Commit(Lease("", 0, 0))[2:]
_KEEPS_ALL: Final = Keep.ALL  # to look up a member of an enum takes long for what each step does


class RowChange:
    """One statement that changes a row.

    Attributes:
        text: The statement.
        values: What is bound to it.
        right: What it is done by.
        path: What it is about, for the refusal.
        expected: What the row should have been, or the change is refused; None if it may rightly change nothing.
    """

    __slots__ = ("expected", "path", "right", "text", "values")

    def __init__(self, text: str, values: Row, right: Right, path: str = "", expected: str | None = None) -> None:
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
        changed = connection.execute(self.text, self.values).rowcount
        if changed != 1 and self.expected is not None:
            raise refusal(connection, self.right, self.path, self.expected)


def frame_row(right: Right, frame: Frame, now: int) -> RowChange:
    """A new version of a frame."""
    lease, cancelled = right
    row, visits, width, refs, before = lease.row, frame.visits, frame.width, frame.refs, frame.seq - 1
    state = {key: data for key, data in frame.state.items() if key not in refs} if refs else frame.state
    content = (
        frame.next,
        dump_visits(visits) if visits else "",
        -1 if width is None else width,
        joined(state),
        dump_refs(refs) if refs else "",
        now,
    )
    path, epoch = frame.path, lease.epoch
    if before == 0:
        values: Row = (row, path, 1, *content, row, epoch, cancelled)
        return RowChange(INSERT_FRAME, values, right, path, "at version 0")
    values = (frame.seq, *content, row, path, before, row, epoch, cancelled)
    return RowChange(UPDATE_FRAME, values, right, path, f"at version {before}")


def frozen_row(right: Right, item: Item, now: int) -> RowChange:
    """An item that waits for its worker."""
    values = (right.lease.row, item.path, item.visit, item.idx, item.input, now, *right.fence)
    return RowChange(INSERT_ITEM, values, right, f"{item.path}[{item.idx}]", "unknown")


def outcome_row(right: Right, item: Item, now: int) -> RowChange:
    """What became of an item that has waited."""
    key = (right.lease.row, item.path, item.visit, item.idx)
    value = None if item.value is None else bytearray(item.value)
    error = None if item.error is None else readable(item.error)
    values = (item.status.value, value, error, now, *key, *right.fence)
    return RowChange(UPDATE_ITEM, values, right, f"{item.path}[{item.idx}]", "waiting")


def value_rows(right: Right, value: StoredValue, now: int) -> Sequence[RowChange]:
    """A value outside of its frame, or an element of a list; the list's first one begins it."""
    path, number, idx, data, maker, _ = value
    row = right.lease.row
    if idx is None:
        return (RowChange(INSERT_VALUE, (row, path, number, bytearray(data), now), right),)
    element = RowChange(INSERT_ELEMENT, (maker or row, number, idx, bytearray(data), now), right)
    if idx > 0:
        return (element,)
    begin = RowChange(BEGIN_LIST, (row, number), right)
    return (begin, RowChange(OWN_LIST, (row, path, row, number), right), element)


def element_blob_rows(right: Right, values: Sequence[StoredValue]) -> Sequence[RowChange]:
    """Which elements refer to bytes, as far as these are there."""
    row = right.lease.row
    return [
        RowChange(REFER_FROM, (value.maker or row, value.number, value.idx, digest), right)
        for value in values
        for digest in value.blobs
    ]


def dropped_row(right: Right, path: str, ref: Ref) -> RowChange:
    """The end of a value, or of a reference to a list, which ends with the last one."""
    row = right.lease.row
    if ref.length is None:
        return RowChange(DROP_VALUE, (row, path, ref.number), right)
    return RowChange(DROP_LIST, (row, path, ref.maker or row, ref.number), right)


def effect_row(right: Right, effect: Effect) -> RowChange:
    """What became of an effect."""
    lease, cancelled = right
    place = (lease.row, effect.place, effect.key)
    if effect.status is EffectStatus.UNDONE:
        return RowChange(DELETE_EFFECT, place, right)
    values = (*place, effect.status.value, effect.value, effect.is_note, lease.row, lease.row, lease.epoch, cancelled)
    return RowChange(WRITE_EFFECT, values, right, "", "open")


def closing_row(right: Right, closing: Closing, now: int) -> RowChange:
    """The end of a run."""
    heard = (
        _ALL_NEWS if closing.status is RunStatus.CANCELLED else closing.heard
    )  # once cancelled, it hears nothing more
    values = (closing.status.value, failure_text(closing), now, *right.fence, heard)
    return RowChange(CLOSE, values, right, "", UNTOLD)


def shape_row(lease: Lease, shape: Shape, workflow: str, version: int) -> RowChange:
    """What a workflow is made of; many runs share it."""
    return RowChange(INSERT_SHAPE, (shape.id, workflow, version, shape.skeleton), Right(lease))


def blob_rows(right: Right, blobs: Mapping[str, bytes | None]) -> Sequence[RowChange]:
    """Bytes that a run refers to from now on, as far as they are there; those that are there are not written again."""
    rows = []
    for digest, data in blobs.items():
        if data is not None:
            rows.append(RowChange(INSERT_BLOB, (digest, data), right))
        rows.append(RowChange(REFER, (right.lease.row, digest), right))
    return rows


class Changes:
    """What a commit changes: all of it, or it is refused and changes nothing.

    Attributes:
        rows: The rows, in the order in which they are changed.
        is_fenced: Whether one of them is refused where the run is no longer ours to change.
        fails: Whether the run fails with it, so that the words of its error are indexed.
    """

    __slots__ = ("_right", "fails", "is_fenced", "rows")

    def __init__(self, right: Right, rows: Sequence[RowChange], *, fails: bool = False) -> None:
        self.rows = rows
        self.fails = fails
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
        if self.fails:
            index_errors(connection)


def changes_of(commit: Commit, now: int) -> Changes | RowChange:
    """What a commit changes in the store's own tables."""
    lease = commit.lease
    if commit.frame is not None and commit[2:] == _NOTHING_ELSE and lease.keep is not _KEEPS_ALL:
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
    if commit.lease.keep is _KEEPS_ALL:
        rows += [RowChange(*row, right) for row in happened_rows(lease, commit.happened, commit.frame, now)]
    if closing is not None:
        rows += _end(right, closing, now)
    fails = closing is not None and closing.error is not None
    is_alone = len(rows) == 1 and rows[0].expected is not None and not fails
    return rows[0] if is_alone else Changes(right, rows, fails=fails)


def _end(right: Right, closing: Closing, now: int) -> Sequence[RowChange]:
    row = closing_row(right, closing, now)
    return (row, RowChange(*closed_row(right.lease, closing, now), right)) if right.lease.keep is _KEEPS_ALL else (row,)


def _outside(right: Right, commit: Commit, now: int) -> Sequence[RowChange]:
    """Values outside of the frame. What it no longer refers to goes, unless the history does."""
    rows: list[RowChange] = []
    if commit.lease.keep is not _KEEPS_ALL:
        path = "" if commit.frame is None else commit.frame.path
        rows += [dropped_row(right, path, ref) for ref in commit.dropped]
    for value in commit.values:
        rows += value_rows(right, value, now)
    if commit.blobs:
        rows += blob_rows(right, commit.blobs)
        rows += element_blob_rows(right, commit.values)
    return rows


def _deletions(right: Right, ended: str | None, joined: Joined | None) -> Sequence[RowChange]:
    rows, has_history = [], right.lease.keep is _KEEPS_ALL
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
    row = right.lease.row
    items, inner = (joined.path, joined.visit), (f"{joined.path}[", f"{joined.path}\\")  # the character behind "["
    texts = DELETE_BELOW if has_history else (*DELETE_BELOW, *DELETE_VALUES_BELOW)
    rows = [RowChange(KEEP_ITEMS, (row, row, *items, *inner), right)] if has_history else []
    rows.append(RowChange(DELETE_ITEMS, (row, *items), right))
    return [*rows, *(RowChange(text, (row, *inner), right) for text in texts)]
