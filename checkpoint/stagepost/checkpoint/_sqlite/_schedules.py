"""Schedules and admissions, each as one function over a connection in a transaction."""

import sqlite3
from collections.abc import Collection
from datetime import datetime
from typing import Final

from .._schedules import StoredSchedule
from ..errors import CorruptStore, ScheduleChanged, ScheduleNotFound
from ._queries import Query, Row, as_bytes
from ._rows import to_micros, to_time

_COLUMNS: Final = (
    "key, workflow, definition, due_at, look_at, created_at, paused, revision, last_due, last_run, missed, failures, "
    "error"
)
_INSERT: Final = f"""
INSERT INTO schedules ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_UPDATE: Final = f"""
UPDATE schedules SET ({_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE key = ? AND revision = ?
"""
_DELETE: Final = "DELETE FROM schedules WHERE key = ?"
_SET_BACK: Final = "UPDATE admissions SET at = ?1 WHERE at > ?1"
_FORGET: Final = "DELETE FROM admissions WHERE at < ?"
_ADMIT: Final = "INSERT INTO admissions (counted, at) VALUES (?, ?)"


def save(connection: sqlite3.Connection, schedule: StoredSchedule) -> StoredSchedule:
    """Store a schedule in the place of its last revision, or a new one.

    Raises:
        ScheduleChanged: It has another revision.
    """
    saved = schedule._replace(revision=schedule.revision + 1)
    if schedule.revision:
        changed = connection.execute(_UPDATE, (*_row(saved), schedule.key, schedule.revision)).rowcount
    else:
        changed = connection.execute(_INSERT, _row(saved)).rowcount
    if changed != 1:
        raise ScheduleChanged(schedule.key, schedule.revision)
    return saved


def delete(connection: sqlite3.Connection, key: str) -> None:
    """Forget a schedule."""
    if connection.execute(_DELETE, (key,)).rowcount != 1:
        raise ScheduleNotFound(key)


def admit(connection: sqlite3.Connection, counted: Collection[str], now: int, before: int) -> None:
    """Write down that a run is taken up."""
    connection.execute(_SET_BACK, (now,))
    connection.execute(_FORGET, (before,))
    connection.executemany(_ADMIT, [(each, now) for each in counted])


def one_query(key: str) -> Query:
    """A schedule."""
    return Query(f"SELECT {_COLUMNS} FROM schedules WHERE key = CAST(? AS TEXT)", (as_bytes(key),))


def page_query(after: str, limit: int) -> Query:
    """A page of schedules."""
    text = f"SELECT {_COLUMNS} FROM schedules WHERE key > CAST(? AS TEXT) ORDER BY key LIMIT ?"
    return Query(text, (as_bytes(after), limit))


def next_query(limit: int) -> Query:
    """Those that are to be looked at first."""
    text = f"""
    SELECT {_COLUMNS} FROM schedules WHERE look_at IS NOT NULL AND paused = 0 ORDER BY look_at LIMIT ?
    """
    return Query(text, (limit,))


def admissions_query(since: int) -> Query:
    """What was counted since a time."""
    return Query("SELECT counted, at FROM admissions WHERE at >= ? ORDER BY at, id", (since,))


def to_schedule(row: Row) -> StoredSchedule:
    """The columns of a schedule.

    Raises:
        CorruptStore: They make no sense.
    """
    key, workflow, definition, due, look, created, paused, revision, last_due, *rest = row
    try:
        for text in (key, workflow, rest[0], rest[3]):
            _ = text and text.encode()  # bytes that are no text are read as surrogates
        times = _time(due), _time(look), to_time(created)
        return StoredSchedule(key, workflow, definition, *times, bool(paused), revision, _time(last_due), *rest)
    except (ValueError, OverflowError) as error:
        raise CorruptStore(f"schedule {key!r} makes no sense: {error}") from error


def _row(schedule: StoredSchedule) -> tuple[object, ...]:
    return tuple(to_micros(part.timestamp()) if isinstance(part, datetime) else part for part in schedule)


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else to_time(micros)
