"""All that a batch changes by one statement, which is a transaction by itself; very many rows by a few.

While SQLite works, the thread does without the interpreter's lock, and after each call it has to get it back from an
event loop that may have much to do. A batch of BEGIN, some statements for each request, and COMMIT would wait for that
each time; one statement lets the loop go on undisturbed until all is on disk.

The statement adds rows to a view that nobody reads. Each row stands for a change: which kind, and the values bound to
it. Triggers make the changes in the order of the rows, and they are made of the very statements that make one alone.
Each row comes by the triggers of all kinds. Steps and items are saved most often, and a batch of nothing else has a
view whose only trigger is theirs.

`UPDATE … FROM (VALUES …)` would take half as long for items, and longer for frames, whose states it copies. But a
statement cannot tell by itself that it has found fewer rows than it should, and to begin and commit around it are two
more calls of SQLite.

Nothing is gained by being clever about failures. A row that is not what was expected, or no longer ours to change, is
refused by its trigger, which undoes the statement; then the requests are run one by one, and whoever is refused learns
why.
"""

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from itertools import count, repeat
from typing import Final

from ._changes import (
    BEGIN_LIST,
    CLOSE,
    DELETE_BELOW,
    DELETE_EFFECT,
    DELETE_FRAME,
    DELETE_ITEMS,
    DELETE_VALUES,
    DELETE_VALUES_BELOW,
    DROP_LIST,
    DROP_VALUE,
    INSERT_BLOB,
    INSERT_ELEMENT,
    INSERT_FRAME,
    INSERT_ITEM,
    INSERT_SHAPE,
    INSERT_VALUE,
    KEEP_ITEMS,
    OWN_LIST,
    PROGRESS,
    REFER,
    REFER_FROM,
    UPDATE_FRAME,
    UPDATE_ITEM,
    WRITE_EFFECT,
    Changes,
    RowChange,
    shape_row,
)
from ._creating import ADOPT, CANCELLED, INSERT_LABEL, INSERT_RUN, SET_PLACE, Creation, last_key
from ._generation import GENERATION, OwnedConnection
from ._happened import ADD_TO_HISTORY, BEGIN_ATTEMPT

_CHECKED: Final = (UPDATE_FRAME, UPDATE_ITEM, INSERT_FRAME, INSERT_ITEM, WRITE_EFFECT, CLOSE, INSERT_RUN, ADOPT)
_UNCHECKED: Final = (
    *(INSERT_VALUE, DROP_VALUE, BEGIN_LIST, OWN_LIST, DROP_LIST, INSERT_ELEMENT, INSERT_LABEL),
    *(ADD_TO_HISTORY, BEGIN_ATTEMPT),
    *(DELETE_EFFECT, INSERT_SHAPE, DELETE_FRAME, KEEP_ITEMS, DELETE_ITEMS, PROGRESS, SET_PLACE),
    *(INSERT_BLOB, REFER, REFER_FROM),
    *(*DELETE_VALUES, *DELETE_BELOW, *DELETE_VALUES_BELOW),
)
_NOTHING, _OWNER = 0, 1  # kinds of rows that change nothing, and that ask whether the file is still ours
_REFUSED: Final = (CANCELLED,)  # what has to find nothing
_KINDS: Final = dict(zip((*_CHECKED, *_UNCHECKED, *_REFUSED), count(2)))
_WIDTH: Final = max(text.count("?") for text in _KINDS)
_PADDING: Final = [(0,) * width for width in range(_WIDTH + 1)]
_MOST: Final = 511  # rows of one statement: it is compiled once, which takes as long as to run it

_ALIKE: Final = {UPDATE_FRAME: "frame_changes", UPDATE_ITEM: "item_changes"}  # kinds with views of their own
_IS_OURS = f"SELECT RAISE(ABORT, 'taken over') WHERE ({GENERATION}) IS NOT NEW.v0"
_IS_DONE = "SELECT RAISE(ABORT, 'refused') WHERE changes() <> 1"


def prepare_together(connection: sqlite3.Connection) -> None:
    """Make the views and their triggers, which only this connection has."""
    connection.execute("PRAGMA temp_store = MEMORY")
    _make_view(connection, "row_changes", _WIDTH)
    _make_trigger(connection, "row_changes", _OWNER, _IS_OURS)
    for text, kind in _KINDS.items():
        body = _with_columns(text)
        if text in _CHECKED:
            body = f"{body}; {_IS_DONE}"
        elif text in _REFUSED:
            body = f"SELECT RAISE(ABORT, 'refused') WHERE EXISTS ({body})"
        _make_trigger(connection, "row_changes", kind, body)
    for text, view in _ALIKE.items():
        _make_view(connection, view, text.count("?"))
        _make_trigger(connection, view, _OWNER, _IS_OURS)
        _make_trigger(connection, view, _KINDS[text], f"{_with_columns(text)}; {_IS_DONE}")


def _make_view(connection: sqlite3.Connection, view: str, width: int) -> None:
    values = ", ".join(f"0 AS v{number}" for number in range(width))
    connection.execute(f"CREATE TEMP VIEW {view} AS SELECT 0 AS kind, {values}")


def _make_trigger(connection: sqlite3.Connection, view: str, kind: int, body: str) -> None:
    connection.execute(
        f"CREATE TEMP TRIGGER {view}_{kind} INSTEAD OF INSERT ON {view} WHEN NEW.kind = {kind} BEGIN {body}; END"
    )


def save_together(connection: sqlite3.Connection, batch: Sequence[object]) -> list[object] | None:
    """Make all changes of a batch in one transaction.

    Returns:
        The results of the requests; None if the batch has others, and nothing was done.

    Raises:
        sqlite3.Error: A change is refused, or SQLite cannot; nothing has been changed.
        ValueError: A value is not one that SQLite can keep; nothing has been changed.
        OverflowError: The same.
    """
    if not isinstance(connection, OwnedConnection):
        return None
    plan = _Plan(connection)
    results = [plan.add(request) for request in batch]
    if not plan.is_possible:
        return None
    if len(plan.rows) <= _MOST:
        _save(connection, plan.rows)
    else:
        _save_many(connection, plan.rows)
    return results


class _Plan:
    """The rows that a batch changes.

    Attributes:
        rows: They, in the order of the requests.
        is_possible: Whether all requests are known to change rows and nothing else.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.rows: list[RowChange] = []
        self.is_possible = True
        self._connection = connection
        self._last_key: int | None = None
        self._shapes: set[str] = set()

    def add(self, request: object) -> object:
        """Add the rows of a request; returns what will be its result."""
        if isinstance(request, RowChange):
            self.rows.append(request)
        elif isinstance(request, Changes) and request.is_fenced and not request.fails:
            self.rows += request.rows
        elif isinstance(request, Creation) and request.is_plain:
            return self._create(request)
        else:
            self.is_possible = False
        return None

    def _create(self, creation: Creation) -> object:
        key = (last_key(self._connection) if self._last_key is None else self._last_key) + 1
        self._last_key = key
        lease = creation.lease(key)
        self.rows += creation.rows(lease)
        run, shape = creation.run, creation.run.shape
        if shape is not None and shape.id not in self._shapes:
            self._shapes.add(shape.id)
            self.rows.append(shape_row(lease, shape, run.workflow, run.version))
        return lease, creation.begun()


def _save_many(connection: OwnedConnection, rows: Sequence[RowChange]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for start in range(0, len(rows), _MOST):
        _save(connection, rows[start : start + _MOST])
    connection.execute("COMMIT")


def _save(connection: OwnedConnection, rows: Sequence[RowChange]) -> None:
    text = rows[0].text
    if text in _ALIKE and all(row.text is text for row in rows):
        view, width = _ALIKE[text], len(rows[0].values)
    else:
        view, width = "row_changes", _WIDTH
    values: list[object] = [_OWNER, connection.generation, *_PADDING[width - 1]]
    for row in rows:
        values.append(_KINDS[row.text])
        values += row.values
        values += _PADDING[width - len(row.values)]
    size = 1 << len(rows).bit_length()  # few sizes, so that SQLite keeps the statements it has compiled
    values += repeat(_NOTHING, (size - len(rows) - 1) * (width + 1))
    connection.execute(_statement(view, width, size), values)


@lru_cache(maxsize=32)
def _statement(view: str, width: int, rows: int) -> str:
    row = f"({', '.join('?' * (width + 1))})"
    return f"INSERT INTO {view} VALUES {', '.join([row] * rows)}"


def _with_columns(text: str) -> str:
    """A statement that takes its values from the columns of a row of a view, in their order."""
    first, *others = text.split("?")
    return first + "".join(f"NEW.v{number}{rest}" for number, rest in enumerate(others))
