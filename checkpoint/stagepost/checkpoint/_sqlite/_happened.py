"""What a commit says about what has happened, as rows of the history of a run that keeps all."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from .._happening import AttemptOutcome, Happening, HappeningKind
from .._records import Closing, Frame, Lease
from ._failure import readable

Row: TypeAlias = tuple[object, ...]
Change: TypeAlias = tuple[str, Row]  # a statement, and what is bound to it

ADD_TO_HISTORY: Final = """
INSERT INTO history (
  rk, number, kind, place, outcome, attempt, begun, ended, error, detail, value,
  path, seq, next, visits, width, state, refs, epoch, saved_at
)
SELECT new.rk, (SELECT coalesce(max(number), 0) + 1 FROM history WHERE rk = new.rk), new.kind, new.place, new.outcome,
  iif(new.kind IN ('step', 'fan_out', 'item'), coalesce(attempts.attempt + (attempts.outcome IS NOT NULL), 1), NULL),
  coalesce(new.begun, attempts.begun), new.ended, new.error, new.detail, new.value,
  frames.path, seq, next, visits, width, state, refs, new.epoch, new.now
FROM (
  SELECT ? AS rk, ? AS kind, ? AS place, ? AS outcome, ? AS begun, ? AS ended, ? AS error, ? AS detail, ? AS value,
    ? AS path, ? AS epoch, ? AS now
) AS new
LEFT JOIN frames ON frames.rk = new.rk AND frames.path = new.path
LEFT JOIN attempts ON attempts.rk = new.rk AND attempts.place = new.place
"""
BEGIN_ATTEMPT: Final = """
INSERT INTO attempts (rk, place, kind, attempt, begun) VALUES (?, ?, ?, 1, ?)
ON CONFLICT (rk, place) DO UPDATE SET attempt = attempt + 1, begun = excluded.begun, outcome = NULL, resting = 0
WHERE outcome IS NOT NULL
"""
_INTERRUPTED: Final = """
INSERT INTO history (rk, number, kind, place, outcome, attempt, begun, epoch, saved_at)
SELECT rk, (SELECT coalesce(max(number), 0) FROM history WHERE rk = ?1) + row_number() OVER (ORDER BY begun, place),
  kind, place, 'interrupted', attempt, begun, ?2, ?3
FROM attempts WHERE rk = ?1 AND outcome IS NULL AND NOT resting
"""
_AGAIN: Final = """
UPDATE attempts SET attempt = attempt + 1, begun = ?2, outcome = NULL
WHERE rk = ?1 AND (outcome = 'interrupted' OR (outcome = 'waiting'
AND NOT EXISTS (SELECT 1 FROM waits WHERE waits.rk = ?1 AND waits.place = attempts.place AND waits.status = 'open')))
"""
_AWAKE: Final = "UPDATE attempts SET resting = 0 WHERE rk = ? AND resting"
_REST: Final = "UPDATE attempts SET resting = 1 WHERE rk = ? AND outcome IS NULL"
_FORGET: Final = "DELETE FROM attempts WHERE rk = ?"


def happened_rows(lease: Lease, happened: Sequence[Happening], frame: Frame | None, now: int) -> Iterator[Change]:
    """What has happened and what begins; the version of a frame, too, where nobody has said what has made it.

    Args:
        lease: The right to commit to the run.
        happened: What a commit says.
        frame: The frame that it has saved, already.
        now: The time.
    """
    is_told = frame is None
    for happening in happened:
        if happening.outcome is None and happening.kind is not HappeningKind.ITEMS:
            yield _begun_row(lease, happening, now)
        else:
            path = frame.path if happening.of_frame and frame is not None else None
            is_told = is_told or path is not None
            yield _happened_row(lease, happening, path, now)
    if frame is not None and not is_told:
        yield version_row(lease, frame.path, now)


def version_row(lease: Lease, path: str, now: int) -> Change:
    """A frame that has just been written, where nobody says what has made it."""
    return _happened_row(lease, Happening(HappeningKind.FRAME, path), path, now)


def began_row(lease: Lease, now: int) -> Change:
    """The beginning of a run, with its first frame."""
    return _happened_row(lease, Happening(HappeningKind.RUN, ""), "", now, outcome="began")


def closed_row(lease: Lease, closing: Closing, now: int) -> Change:
    """The end of a run, which the row of the run already says."""
    said = Happening(HappeningKind.RUN, "", ended=now / 1_000_000, error=closing.error)
    return _happened_row(lease, said, None, now, outcome=closing.status.value)


def note_claimed(connection: sqlite3.Connection, lease: Lease, now: int, *, outcome: str | None) -> None:
    """A run was claimed: attempts that its last owner has left under way were interrupted.

    Args:
        connection: The connection.
        lease: The new one.
        now: The time.
        outcome: What became of the run by that; None if it has only waited.
    """
    connection.execute(_INTERRUPTED, (lease.row, lease.epoch - 1, now))
    connection.execute(_AWAKE, (lease.row,))
    if outcome is not None:
        connection.execute(*_run_row(lease, outcome, now))


def note_going_on(connection: sqlite3.Connection, lease: Lease, now: int, begins: Sequence[Happening]) -> None:
    """Whoever has claimed a run goes on with it: what was interrupted begins again, and what has waited.

    Args:
        connection: The connection.
        lease: The new one.
        now: The time.
        begins: What begins as well, if it is not under way.
    """
    connection.execute(_AGAIN, (lease.row, now))
    for row in happened_rows(lease, begins, None, now):
        connection.execute(*row)


def note_migrated(connection: sqlite3.Connection, lease: Lease, now: int) -> None:
    """A run is one of another version: what was under way will not go on under its name."""
    connection.execute(*_run_row(lease, "migrated", now))
    connection.execute(_FORGET, (lease.row,))


def note_resting(connection: sqlite3.Connection, lease: Lease) -> None:
    """A run was parked: what is under way in it waits for something inside."""
    connection.execute(_REST, (lease.row,))


def _run_row(lease: Lease, outcome: str, now: int) -> Change:
    return _happened_row(lease, Happening(HappeningKind.RUN, ""), None, now, outcome=outcome)


def _begun_row(lease: Lease, happening: Happening, now: int) -> Change:
    begun = now if happening.begun is None else _micros(happening.begun)
    return BEGIN_ATTEMPT, (lease.row, happening.place, happening.kind.value, begun)


def _happened_row(
    lease: Lease, happening: Happening, path: str | None, now: int, *, outcome: str | AttemptOutcome | None = None
) -> Change:
    said = outcome or happening.outcome
    error = None if happening.error is None else readable(happening.error)
    about = (lease.row, happening.kind.value, happening.place, None if said is None else str(said))
    times = (_micros(happening.begun), _micros(happening.ended))
    values = (*about, *times, error, happening.detail, happening.value, path, lease.epoch, now)
    return ADD_TO_HISTORY, values


def _micros(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1_000_000)
