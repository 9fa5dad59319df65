"""What is asked of the tables."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from stagepost._dataclasses import dataclass

from .._records import RunStatus
from .._waiting import WaitKind
from ._times import to_micros

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


class Filters(NamedTuple):
    """Which runs are looked for; see `CheckpointStore.find`."""

    status: RunStatus | Collection[RunStatus] | None = None
    workflow: str | None = None
    since: datetime | None = None
    until: datetime | None = None


def runs_query(chosen: Filters, after: str, limit: int) -> Query:
    """A page of runs in the order of their ids."""
    filters: list[str] = ["run_id > CAST(? AS TEXT)"]
    values: list[str | int | bytes] = [as_bytes(after)]
    if chosen.status is not None:
        filters.append(_has_status(chosen.status))
    if chosen.workflow is not None:
        filters.append("workflow = ?")
        values.append(chosen.workflow)
    for sign, time in ((">=", chosen.since), ("<", chosen.until)):
        if time is not None:
            filters.append(f"created_at {sign} ?")
            values.append(to_micros(time.timestamp()))
    text = f"SELECT {RUN_COLUMNS} FROM runs WHERE {' AND '.join(filters)} ORDER BY run_id LIMIT ?"
    return Query(text, (*values, limit))


def _has_status(chosen: RunStatus | Collection[RunStatus]) -> str:
    """Members of the enum as constants, and one by equality: so the partial index serves."""
    each = [f"'{RunStatus(status).value}'" for status in ([chosen] if isinstance(chosen, str) else chosen)]
    return f"status = {each[0]}" if len(each) == 1 else f"status IN ({', '.join(each)})"


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
    SELECT id, name, value, checked FROM signals
    WHERE rk = (SELECT rk FROM runs WHERE run_id = CAST(? AS TEXT)) AND id > ? ORDER BY id LIMIT ?
    """
    return Query(text, (as_bytes(run_id), after, limit))


def free_runs_query(owner: int, after: str, limit: int) -> Query:
    """A page of the running runs that only one owner can have, and has not."""
    text = f"""
    SELECT {RUN_COLUMNS} FROM runs WHERE status = 'running' AND run_id > CAST(? AS TEXT) AND owner IS NOT ?
    ORDER BY run_id LIMIT ?
    """
    return Query(text, (as_bytes(after), owner, limit))


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


def waits_query(run_id: str | None, below: str | None, kind: WaitKind | None, after: str, limit: int) -> Query:
    """A page of open waits in the order of their ids, which those of one run, or below one, follow each other in."""
    prefixes = [f"{run_id}/"] if run_id is not None else []
    prefixes += [f"{below}."] if below is not None else []
    filters = ["waits.status = 'open'", "runs.status IN ('running', 'waiting')", "id > CAST(? AS TEXT)"]
    values: list[str | int | bytes] = [max(as_bytes(text) for text in (after, *prefixes))]
    for prefix in prefixes:
        filters.append("id < CAST(? AS TEXT)")
        values.append(as_bytes(f"{prefix[:-1]}{chr(ord(prefix[-1]) + 1)}"))
    if kind is not None:
        filters.append("kind = ?")
        values.append(WaitKind(kind).value)
    text = f"""
    SELECT id, run_id, workflow, version, blocked, {WAIT_COLUMNS} FROM waits JOIN runs USING (rk)
    WHERE {" AND ".join(filters)} ORDER BY id LIMIT ?
    """
    return Query(text, (*values, limit))


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
