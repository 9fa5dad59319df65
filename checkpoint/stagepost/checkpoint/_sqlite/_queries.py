"""What is asked of the tables."""

from collections.abc import Sequence
from typing import Any

from stagepost._dataclasses import dataclass

RUN_COLUMNS = (
    "run_id, workflow, version, status, key, input, error, cancelling, owner, epoch, attempts, "
    "created_at, finished_at, trace, keep, news, heard, blocked, shape"
)
WAIT_COLUMNS = "place, kind, name, prompt, due_at, waits.status, value, by, opened_at, ended_at, checked, refused"
SELECT_RUN = f"SELECT {RUN_COLUMNS} FROM runs WHERE run_id = ?"
SNAPSHOT_PARTS = {
    "shape": ("skeleton", "shapes WHERE id = (SELECT shape FROM run)"),
    "run": (RUN_COLUMNS, "run"),
    "frame": ("path, seq, next, state, visits, width, refs", "frames WHERE rk = (SELECT rk FROM run)"),
    "item": ("path, visit, idx, status, input, value, error", "items WHERE rk = (SELECT rk FROM run)"),
    "value": ("path, key, gen, idx, value", "vals WHERE rk = (SELECT rk FROM run)"),
    "wait": (WAIT_COLUMNS, "waits WHERE rk = (SELECT rk FROM run)"),
    "effect": ("place, key, status, value", "effects WHERE rk = (SELECT rk FROM run)"),
}
_WIDTH = max(columns.count(",") for columns, _ in SNAPSHOT_PARTS.values())


def _select(kind: str, columns: str, source: str) -> str:
    """One part of a snapshot, as wide as the widest one."""
    return f"SELECT '{kind}', {columns}{', NULL' * (_WIDTH - columns.count(','))} FROM {source}"


_SNAPSHOT = "WITH run AS (SELECT * FROM runs WHERE run_id = CAST(? AS TEXT)) " + " UNION ALL ".join(
    _select(kind, *part) for kind, part in SNAPSHOT_PARTS.items()
)

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Query:
    """One statement and the values bound to it."""

    text: str
    values: tuple[str | int | bytes, ...]


def snapshot_query(run_id: str) -> Query:
    """All rows of one run in a single statement, and so as of one moment."""
    return Query(_SNAPSHOT, (as_bytes(run_id),))


COUNT_RUNS = Query("SELECT count(*) FROM runs", ())


def ids_query(after: str, limit: int) -> Query:
    """A page of the ids of runs."""
    text = "SELECT run_id FROM runs WHERE run_id > CAST(? AS TEXT) ORDER BY run_id LIMIT ?"
    return Query(text, (as_bytes(after), limit))


_OF_RUNS = ("blob_refs", "effects", "frames", "history", "items", "signals", "vals", "waits")
ORPHANS = " UNION ALL ".join(
    f"SELECT '{table}', count(*), count(DISTINCT rk) FROM {table} WHERE rk NOT IN (SELECT rk FROM runs)"
    for table in _OF_RUNS
)
ODD_RUNS = """
SELECT run_id, status, finished_at IS NULL FROM runs
WHERE (status IN ('running', 'waiting') AND finished_at IS NOT NULL)
OR (status IN ('completed', 'failed', 'cancelled', 'dead') AND finished_at IS NULL)
OR (status = 'waiting' AND NOT EXISTS (SELECT 1 FROM waits WHERE waits.rk = runs.rk AND waits.status = 'open'))
ORDER BY run_id
"""
SELECT_BLOB = "SELECT value FROM blobs WHERE digest = CAST(? AS TEXT)"
UNUSED_BLOBS = """
SELECT count(*), coalesce(sum(length(value)), 0) FROM blobs WHERE digest NOT IN (SELECT digest FROM blob_refs)
"""
INTEGRITY = "PRAGMA integrity_check(10)"


def history_query(run_id: str, after: int, limit: int) -> Query:
    """A page of the versions of one run."""
    text = """
    SELECT number, saved_at, path, seq, next, state, visits, width, NULL FROM history JOIN runs USING (rk)
    WHERE run_id = CAST(? AS TEXT) AND number > ? ORDER BY number LIMIT ?
    """
    return Query(text, (as_bytes(run_id), after, limit))


def signals_query(run_id: str, after: int, limit: int) -> Query:
    """A page of the signals of one run."""
    text = """
    SELECT id, name, value, checked FROM signals INDEXED BY signals_sent
    WHERE rk = (SELECT rk FROM runs WHERE run_id = CAST(? AS TEXT)) AND id > ? ORDER BY id LIMIT ?
    """
    return Query(text, (as_bytes(run_id), after, limit))


def latest_query(run_id: str, after: int) -> Query:
    """How much news a run has, and the waits that have ended since a number of it; a row without one if none has."""
    text = f"""
    SELECT runs.news, {WAIT_COLUMNS} FROM runs LEFT JOIN waits ON waits.rk = runs.rk AND waits.news > ?
    WHERE run_id = CAST(? AS TEXT) ORDER BY waits.news
    """
    return Query(text, (after, as_bytes(run_id)))


def ended_query(before: int) -> Query:
    """Whether a run has ended before a time."""
    return Query("SELECT 1 FROM runs WHERE finished_at < ? LIMIT 1", (before,))


def old_keys_query(before: int) -> Query:
    """Whether a key is remembered of a run that ended before a time."""
    return Query("SELECT 1 FROM keys WHERE ended_at < ? LIMIT 1", (before,))


def as_text(data: bytes) -> str:
    """Text of any bytes: damaged text concerns its row only, while by default it would fail the whole query."""
    return data.decode(errors="surrogateescape")


def as_bytes(text: str) -> bytes:
    """The bytes that `as_text` made this of."""
    return text.encode(errors="surrogateescape")


def digests_query(after: str, limit: int) -> Query:
    """A page of the digests that runs refer to."""
    text = "SELECT DISTINCT digest FROM blob_refs WHERE digest > CAST(? AS TEXT) ORDER BY digest LIMIT ?"
    return Query(text, (as_bytes(after), limit))


def referring_query(digest: str) -> Query:
    """Runs that refer to some bytes."""
    text = """
    SELECT run_id FROM blob_refs JOIN runs USING (rk) WHERE digest = CAST(? AS TEXT) ORDER BY run_id LIMIT 10
    """
    return Query(text, (as_bytes(digest),))
