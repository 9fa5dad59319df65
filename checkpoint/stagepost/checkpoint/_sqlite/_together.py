"""Many changes of rows of one kind by one statement, which is a transaction by itself.

While SQLite works, the thread does without the interpreter's lock, and after each call it has to get it back from an
event loop that may have much to do. A batch of BEGIN, a statement for each row, and COMMIT would wait for that each
time; one statement lets the loop go on undisturbed until all is on disk.

Nothing is gained by being clever about failures. A row that is not what was expected, or no longer ours to change, is
given NULL where there must be none, and so undoes the statement; then the changes are made one by one, and whoever is
refused learns why.
"""

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ._generation import GENERATION, OwnedConnection
from ._row import UPDATE_FRAME, UPDATE_ITEM, RowChange


class _Kind(NamedTuple):
    """How rows of a table are changed together.

    Attributes:
        text: The statement for many rows, up to what follows VALUES.
        rest: What follows.
        width: How many values a row has.
        key: Where among these the row's key is.
    """

    text: str
    rest: str
    width: int
    key: slice


_KINDS: Final = {
    UPDATE_FRAME: _Kind(
        f"""
        INSERT INTO frames (rk, path, seq, next, visits, width, state, refs)
        SELECT column7, column8, CASE WHEN ({GENERATION}) = ?
          AND EXISTS (SELECT 1 FROM frames WHERE rk = column7 AND path = column8 AND seq = column9)
          AND EXISTS (SELECT 1 FROM runs WHERE rk = column10 AND epoch = column11 AND cancelling <= column12
                      AND status = 'running')
          THEN column1 END, column2, column3, column4, column5, column6
        FROM (VALUES """,
        """) WHERE column7 IS NOT NULL
        ON CONFLICT (rk, path) DO UPDATE SET seq = excluded.seq, next = excluded.next, visits = excluded.visits,
          width = excluded.width, state = excluded.state, refs = excluded.refs
        """,
        12,
        slice(6, 8),
    ),
    UPDATE_ITEM: _Kind(
        f"""
        INSERT INTO items (rk, path, visit, idx, status, input, value, error)
        SELECT column4, column5, column6, column7, CASE WHEN ({GENERATION}) = ?
          AND EXISTS (SELECT 1 FROM items WHERE rk = column4 AND path = column5 AND visit = column6
                      AND idx = column7 AND status = 'waiting')
          AND EXISTS (SELECT 1 FROM runs WHERE rk = column8 AND epoch = column9 AND cancelling <= column10
                      AND status = 'running')
          THEN column1 END, x'', column2, column3
        FROM (VALUES """,
        """) WHERE column4 IS NOT NULL
        ON CONFLICT (rk, path, visit, idx) DO UPDATE SET status = excluded.status, value = excluded.value,
          error = excluded.error
        """,
        10,
        slice(3, 7),
    ),
}


def save_together(connection: sqlite3.Connection, batch: Sequence[object]) -> bool:
    """Make all changes of a batch in one transaction.

    Returns:
        Whether it was done; False if the batch is not made of changes of one kind, each to another row.

    Raises:
        sqlite3.Error: A change is refused, or SQLite cannot; nothing has been changed.
        ValueError: A value is not one that SQLite can keep; nothing has been changed.
        OverflowError: The same.
    """
    changes = [change for change in batch if isinstance(change, RowChange)]
    kind = _KINDS.get(changes[0].text) if changes else None
    if kind is None or len(changes) < len(batch) or not isinstance(connection, OwnedConnection):
        return False
    if any(change.text != changes[0].text for change in changes):
        return False
    if len({change.values[kind.key] for change in changes}) < len(changes):
        return False
    values: list[object] = [connection.generation]
    for change in changes:
        values += change.values
    rows = 1 << (len(changes) - 1).bit_length()  # few sizes, so that SQLite keeps the statements it has compiled
    values += [None] * (kind.width * (rows - len(changes)))
    connection.execute(_statement(changes[0].text, rows), values)
    return True


@lru_cache(maxsize=32)
def _statement(update: str, rows: int) -> str:
    kind = _KINDS[update]
    row = f"({', '.join('?' * kind.width)})"
    return f"{kind.text}{', '.join([row] * rows)}{kind.rest}"
