"""What is asked of the tables."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any, NamedTuple

from .._records import RunStatus
from .._waiting import WaitKind
from ._times import to_micros

RUN_COLUMNS = (
    "run_id, workflow, version, status, key, input, error, cancelling, owner, epoch, attempts, "
    "created_at, finished_at, trace, keep, "
    "(SELECT json_group_object(name, value) FROM labels WHERE labels.rk = runs.rk)"
)
WAIT_COLUMNS = "place, kind, name, prompt, due_at, waits.status, value, by, opened_at, ended_at"
SELECT_RUN = f"SELECT {RUN_COLUMNS} FROM runs WHERE run_id = ?"
FRAME_COLUMNS = "path, seq, next, state, visits, width, refs"
_OUTSIDE = {
    "value": ("number, value", "vals WHERE rk = (SELECT rk FROM run)"),
    "element": (  # of a list and of those that it begins with; 0: the run has begun it
        "iif(of_maker = (SELECT rk FROM run), 0, of_maker), of_number, idx, value",
        "parts JOIN elements USING (maker, number) WHERE idx < stop",
    ),
}
SNAPSHOT_PARTS = {
    "shape": ("skeleton", "shapes WHERE id = (SELECT shape FROM run)"),
    "run": (RUN_COLUMNS, "run AS runs"),
    "frame": (f"{FRAME_COLUMNS}, saved_at", "frames WHERE rk = (SELECT rk FROM run)"),
    "item": ("path, visit, idx, status, input, value, error, saved_at", "items WHERE rk = (SELECT rk FROM run)"),
    **_OUTSIDE,
    "number": (
        "coalesce(max(number), 0)",
        """(SELECT number FROM vals WHERE rk = (SELECT rk FROM run)
        UNION ALL SELECT max(number) FROM lists WHERE maker = (SELECT rk FROM run))""",
    ),
    "wait": (WAIT_COLUMNS, "waits WHERE rk = (SELECT rk FROM run)"),
    "effect": ("place, key, status, value", "effects WHERE rk = (SELECT rk FROM run)"),
}
HISTORY_PARTS = {
    "run": ("rk", "run"),
    **_OUTSIDE,
    "version": (
        f"{FRAME_COLUMNS}, number, epoch, saved_at",
        "(SELECT * FROM history WHERE rk = (SELECT rk FROM run) AND number > ? ORDER BY number LIMIT ?)",
    ),
}
_PARTS = """
WITH RECURSIVE run AS (SELECT * FROM runs WHERE run_id = CAST(? AS TEXT)),
parts (of_maker, of_number, maker, number, stop) AS (
  SELECT maker, number, maker, number, coalesce(length, 9223372036854775807)
  FROM list_refs WHERE rk = (SELECT rk FROM run)
  UNION ALL
  SELECT of_maker, of_number, base_maker, base_number, base_length
  FROM parts JOIN lists USING (maker, number) WHERE base_maker IS NOT NULL
)
"""
_LIST = """
WITH RECURSIVE run AS (SELECT * FROM runs WHERE run_id = CAST(? AS TEXT)),
ref (number, length, maker) AS (
  SELECT json_extract(key.value, '$[0]'), json_extract(key.value, '$[1]'), json_extract(key.value, '$[2]')
  FROM frames, json_each(frames.refs) AS key
  WHERE frames.rk = (SELECT rk FROM run) AND frames.path = CAST(? AS TEXT) AND key.key = CAST(? AS TEXT)
),
parts (maker, number, stop) AS (
  SELECT iif(maker = 0, (SELECT rk FROM run), maker), number, length FROM ref
  UNION ALL
  SELECT base_maker, base_number, base_length
  FROM parts JOIN lists USING (maker, number) WHERE base_length > CAST(? AS INTEGER)
)
SELECT idx, value FROM parts JOIN elements USING (maker, number)
WHERE idx >= CAST(? AS INTEGER) AND idx < stop ORDER BY idx LIMIT ?
"""


def _union(parts: Mapping[str, tuple[str, str]]) -> str:
    """Parts of what is read in one statement, each as wide as the widest one."""
    width = max(_width(columns) for columns, _ in parts.values())
    return " UNION ALL ".join(
        f"SELECT '{kind}', {columns}{', NULL' * (width - _width(columns))} FROM {source}"
        for kind, (columns, source) in parts.items()
    )


def _width(columns: str) -> int:
    """How many columns a list of them has; commas in brackets separate none."""
    depth = list(accumulate((text == "(") - (text == ")") for text in columns))
    return 1 + sum(text == "," and not inside for text, inside in zip(columns, depth, strict=True))


_SNAPSHOT = _PARTS + _union(SNAPSHOT_PARTS)
_HISTORY = _PARTS + _union(HISTORY_PARTS)

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Query:
    """One statement and the values bound to it."""

    text: str
    values: tuple[str | int | float | bytes | None, ...]


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


_OF_RUNS = ("blob_refs", "effects", "frames", "history", "items", "labels", "list_refs", "signals", "vals", "waits")
ORPHANS = " UNION ALL ".join(
    f"SELECT '{table}', count(*), count(DISTINCT rk) FROM {table} WHERE rk NOT IN (SELECT rk FROM runs)"
    for table in _OF_RUNS
)
UNUSED_LISTS = """
WITH unused AS (
  SELECT maker, number FROM (SELECT maker, number FROM lists UNION SELECT maker, number FROM elements)
  EXCEPT SELECT maker, number FROM list_refs
  EXCEPT SELECT base_maker, base_number FROM lists WHERE base_maker IS NOT NULL
)
SELECT count(*), (SELECT count(*) FROM elements JOIN unused USING (maker, number)) FROM unused
"""
ODD_RUNS = """
SELECT run_id, status, finished_at IS NULL FROM runs
WHERE (status IN ('running', 'waiting') AND finished_at IS NOT NULL)
OR (status IN ('completed', 'failed', 'cancelled', 'dead') AND finished_at IS NULL)
OR (status = 'waiting' AND NOT EXISTS (SELECT 1 FROM waits WHERE waits.rk = runs.rk AND waits.status = 'open'))
ORDER BY run_id
"""
SELECT_BLOB = "SELECT value FROM blobs WHERE digest = CAST(? AS TEXT)"
UNUSED_BLOBS = """
SELECT count(*), coalesce(sum(length(value)), 0) FROM blobs
WHERE digest NOT IN (SELECT digest FROM blob_refs) AND digest NOT IN (SELECT digest FROM element_blobs)
"""
INTEGRITY = "PRAGMA integrity_check(10)"


def history_query(run_id: str, after: int, limit: int) -> Query:
    """A page of the versions of one run, with all that they refer to, in a single statement."""
    return Query(_HISTORY, (as_bytes(run_id), after, limit))


def elements_query(run_id: str, path: str, key: str, after: int, limit: int) -> Query:
    """Elements of a list of one run, those that belong to lists that it begins with included."""
    return Query(_LIST, (as_bytes(run_id), as_bytes(path), as_bytes(key), after, after, limit))


def signals_query(run_id: str, after: int, limit: int) -> Query:
    """A page of the signals of one run."""
    text = """
    SELECT id, name, value FROM signals WHERE rk = (SELECT rk FROM runs WHERE run_id = CAST(? AS TEXT)) AND id > ?
    ORDER BY id LIMIT ?
    """
    return Query(text, (as_bytes(run_id), after, limit))


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
    SELECT id, run_id, workflow, version, {WAIT_COLUMNS} FROM waits JOIN runs USING (rk)
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
    text = """
    SELECT digest FROM blob_refs WHERE digest > CAST(? AS TEXT)
    UNION SELECT digest FROM element_blobs WHERE digest > CAST(? AS TEXT) ORDER BY digest LIMIT ?
    """
    return Query(text, (as_bytes(after), as_bytes(after), limit))


def referring_query(digest: str) -> Query:
    """Runs that refer to some bytes."""
    text = """
    WITH RECURSIVE on_it (maker, number) AS (
      SELECT maker, number FROM element_blobs WHERE digest = CAST(? AS TEXT)
      UNION
      SELECT lists.maker, lists.number FROM on_it JOIN lists
      ON lists.base_maker = on_it.maker AND lists.base_number = on_it.number
    )
    SELECT run_id FROM runs WHERE rk IN (
      SELECT rk FROM blob_refs WHERE digest = CAST(? AS TEXT)
      UNION SELECT rk FROM on_it JOIN list_refs USING (maker, number)
    ) ORDER BY run_id LIMIT 10
    """
    return Query(text, (as_bytes(digest), as_bytes(digest)))
