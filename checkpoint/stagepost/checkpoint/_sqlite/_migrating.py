"""Replacing what is stored of a run by its form for another version of its workflow."""

import sqlite3
from collections.abc import Iterator

from .._plain import join_values
from .._records import Frame, Item, Keep, Lease, Migrated
from ._changes import value_rows
from ._fence import Right, check_held
from ._happened import note_migrated, version_row
from ._rows import dump_refs, dump_visits

_FORGET = "DELETE FROM {table} WHERE rk = ?"
_LAST = "SELECT max(number), (SELECT version FROM runs WHERE runs.rk = history.rk) FROM history WHERE rk = ?"
_MIGRATED = """
INSERT INTO migrated (rk, number, version, until) SELECT ?, ?, ?, max(number) FROM history WHERE rk = ?
"""
_KEEP_ALL_ITEMS = """
INSERT INTO past_items (rk, path, joined, visit, idx, status, input, value, error, saved_at)
SELECT rk, path, (SELECT max(number) + 1 FROM history WHERE history.rk = items.rk),
  visit, idx, status, input, value, error, saved_at
FROM items WHERE rk = ?
"""
_VERSION = "UPDATE runs SET version = ? WHERE rk = ?"
_FRAME = """
INSERT INTO frames (rk, path, seq, next, visits, width, state, refs, saved_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ITEM = """
INSERT INTO items (rk, path, visit, idx, status, input, value, error, saved_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_LOST = "DELETE FROM waits WHERE rk = ? AND place = ?"
_KEEP_BLOBS = """
WITH RECURSIVE own (maker, number) AS (
  SELECT maker, number FROM list_refs WHERE rk = ?
  UNION SELECT base_maker, base_number FROM own JOIN lists USING (maker, number) WHERE base_maker IS NOT NULL
)
INSERT OR IGNORE INTO blob_refs (rk, digest) SELECT ?, digest FROM own JOIN element_blobs USING (maker, number)
"""


def migrate(connection: sqlite3.Connection, lease: Lease, migrated: Migrated, now: int) -> None:
    """Write all frames, values and items of a run anew. Its lists are new ones, which no other run refers to."""
    check_held(connection, Right(lease))
    connection.execute(_KEEP_BLOBS, (lease.row, lease.row))
    last = connection.execute(_LAST, (lease.row,)).fetchone()
    if lease.keep is Keep.ALL:
        connection.execute(_KEEP_ALL_ITEMS, (lease.row,))
    for table in _tables(lease):
        connection.execute(_FORGET.format(table=table), (lease.row,))
    connection.execute(_VERSION, (migrated.version, lease.row))
    connection.executemany(_FRAME, [_frame_row(lease, frame, now) for frame in migrated.frames])
    connection.executemany(_ITEM, [_item_row(lease, item, now) for item in migrated.items])
    for value in migrated.values:
        for change in value_rows(Right(lease), value, now):
            change(connection)
    connection.executemany(_LOST, [(lease.row, place) for place in migrated.lost])
    if lease.keep is Keep.ALL:
        note_migrated(connection, lease, now)
        for frame in migrated.frames:
            connection.execute(*version_row(lease, frame.path, now))
        connection.execute(_MIGRATED, (lease.row, *last, lease.row))


def _tables(lease: Lease) -> Iterator[str]:
    yield from ("frames", "items")
    if lease.keep is not Keep.ALL:  # otherwise the history refers to the values and lists
        yield from ("vals", "list_refs")


def _frame_row(lease: Lease, frame: Frame, now: int) -> tuple[object, ...]:
    state = join_values({key: data for key, data in frame.state.items() if key not in frame.refs})
    visits, refs = dump_visits(frame.visits), dump_refs(frame.refs)
    return (lease.row, frame.path, frame.seq, frame.next, visits, frame.width, state, refs, now)


def _item_row(lease: Lease, item: Item, now: int) -> tuple[object, ...]:
    return (lease.row, item.path, item.visit, item.idx, item.status.value, item.input, item.value, item.error, now)
