"""Schedules and admissions, each as one function over a connection in a transaction."""

import sqlite3
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, TypeAlias

from .._schedules import StoredSchedule
from ..errors import CorruptSchedule, ScheduleChanged, ScheduleNotFound
from ._queries import Query, Row, as_bytes
from ._rows import json_of, to_micros, to_time

Place: TypeAlias = tuple[int, str]
"""Where something stands among schedules to be looked at: when, and its key."""

_FIRST: Final = (-(2**63), "")
_MANY: Final = 2**53  # nothing is counted so far
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
_DELETE: Final = "DELETE FROM schedules WHERE key = CAST(? AS TEXT)"
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
    if connection.execute(_DELETE, (as_bytes(key),)).rowcount != 1:
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


def next_query(limit: int, after: Place = _FIRST) -> Query:
    """Those that are to be looked at first, after a place in their order."""
    text = f"""
    SELECT {_COLUMNS} FROM schedules WHERE look_at IS NOT NULL AND paused = 0 AND (look_at, key) > (?, CAST(? AS TEXT))
    ORDER BY look_at, key LIMIT ?
    """
    return Query(text, (after[0], as_bytes(after[1]), limit))


def place_of(row: Row) -> Place:
    """Where a schedule stands among those that are to be looked at."""
    return row[4], row[0]


def admissions_query(since: int) -> Query:
    """What was counted since a time."""
    return Query("SELECT counted, at FROM admissions WHERE at >= ? ORDER BY at, id", (since,))


def to_schedule(row: Row) -> StoredSchedule:
    """The columns of a schedule.

    Raises:
        CorruptSchedule: They make no sense.
    """
    key, workflow, definition, due, look, created, paused, revision, last_due, *rest = row
    last_run, missed, failures, error = rest
    try:
        for text in (key, workflow, last_run, error):
            _ = text and text.encode()  # bytes that are no text are read as surrogates
        _check_counts(revision, missed, failures)
        times = _time(due), _time(look), to_time(created)
        return StoredSchedule(
            key, workflow, json_of(definition), *times, bool(paused), revision, _time(last_due), *rest
        )
    except (ValueError, OverflowError) as why:
        raise CorruptSchedule(key, str(why)) from why


def _check_counts(*counts: int) -> None:
    if not all(0 <= count < _MANY for count in counts):
        raise ValueError(f"revision, missed, failures = {counts} are no counts")


def to_schedules(rows: Sequence[Row]) -> tuple[Sequence[StoredSchedule], Sequence[CorruptSchedule]]:
    """Schedules, and those that make no sense."""
    found, damaged = list[StoredSchedule](), list[CorruptSchedule]()
    for row in rows:
        try:
            found.append(to_schedule(row))
        except CorruptSchedule as error:
            damaged.append(error)
    return tuple(found), tuple(damaged)


def _row(schedule: StoredSchedule) -> tuple[object, ...]:
    return tuple(to_micros(part.timestamp()) if isinstance(part, datetime) else part for part in schedule)


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else to_time(micros)
