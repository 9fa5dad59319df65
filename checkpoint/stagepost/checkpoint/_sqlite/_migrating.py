"""Replacing what is stored of a run by its form for another version of its workflow."""

import sqlite3

from .._codec import join_values
from .._records import Frame, Item, Lease, Migrated
from ._fence import Right, check_held
from ._rows import dump_refs, dump_visits

_FORGET = "DELETE FROM {table} WHERE rk = ?"
_VERSION = "UPDATE runs SET version = ? WHERE rk = ?"
_FRAME = "INSERT INTO frames (rk, path, seq, next, visits, width, state, refs) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_ITEM = "INSERT INTO items (rk, path, visit, idx, status, input, value, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_VALUE = "INSERT INTO vals (rk, path, key, gen, idx, value) VALUES (?, ?, ?, ?, ?, ?)"
_LOST = "DELETE FROM waits WHERE rk = ? AND place = ?"


def migrate(connection: sqlite3.Connection, lease: Lease, migrated: Migrated) -> None:
    """Write all frames, values and items of a run anew."""
    check_held(connection, Right(lease))
    for table in ("frames", "items", "vals"):
        connection.execute(_FORGET.format(table=table), (lease.row,))
    connection.execute(_VERSION, (migrated.version, lease.row))
    connection.executemany(_FRAME, [_frame_row(lease, frame) for frame in migrated.frames])
    connection.executemany(_ITEM, [_item_row(lease, item) for item in migrated.items])
    values = [(lease.row, row.path, row.key, row.gen, row.idx, row.value) for row in migrated.values]
    connection.executemany(_VALUE, values)
    connection.executemany(_LOST, [(lease.row, place) for place in migrated.lost])


def _frame_row(lease: Lease, frame: Frame) -> tuple[object, ...]:
    state = join_values({key: data for key, data in frame.state.items() if key not in frame.refs})
    visits, refs = dump_visits(frame.visits), dump_refs(frame.refs)
    return (lease.row, frame.path, frame.seq, frame.next, visits, frame.width, state, refs)


def _item_row(lease: Lease, item: Item) -> tuple[object, ...]:
    return (lease.row, item.path, item.visit, item.idx, item.status.value, item.input, item.value, item.error)
