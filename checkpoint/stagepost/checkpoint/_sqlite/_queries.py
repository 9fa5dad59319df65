"""What is asked of the tables."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Final

from stagepost._dataclasses import dataclass

_LARGEST: Final = 2**63 - 1

RUN_COLUMNS = (
    "run_id, workflow, version, status, key, input, error, cancelling, owner, epoch, attempts, "
    "runs.created_at, finished_at, trace, keep, news, heard, blocked, shape, forked_from, forked_at, "
    "(SELECT json_group_object(name, value) FROM labels WHERE labels.rk = runs.rk)"
)
WAIT_COLUMNS = "place, kind, name, prompt, due_at, waits.status, value, by, opened_at, ended_at, checked, refused"
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
        "coalesce(max(number), 0), (SELECT rk FROM run)",
        """(SELECT number FROM vals WHERE rk = (SELECT rk FROM run)
        UNION ALL SELECT max(number) FROM lists WHERE maker = (SELECT rk FROM run))""",
    ),
    "wait": (WAIT_COLUMNS, "waits WHERE rk = (SELECT rk FROM run)"),
    "effect": ("place, key, status, value, number, note", "effects WHERE rk = (SELECT rk FROM run)"),
}
HISTORY_PARTS = {
    "run": ("rk", "run"),
    **_OUTSIDE,
    "version": (
        f"{FRAME_COLUMNS}, number, epoch, saved_at",
        """(SELECT * FROM history WHERE rk = (SELECT rk FROM run) AND number > ? AND path IS NOT NULL
        ORDER BY number LIMIT ?)""",
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


def union(parts: Mapping[str, tuple[str, str]]) -> str:
    """Parts of what is read in one statement, each as wide as the widest one.

    Args:
        parts: By their names the columns of each, and where they come from.
    """
    width = max(_width(columns) for columns, _ in parts.values())
    return " UNION ALL ".join(
        f"SELECT '{kind}', {columns}{', NULL' * (width - _width(columns))} FROM {source}"
        for kind, (columns, source) in parts.items()
    )


def _width(columns: str) -> int:
    """How many columns a list of them has; commas in brackets separate none."""
    depth = list(accumulate((text == "(") - (text == ")") for text in columns))
    return 1 + sum(text == "," and not inside for text, inside in zip(columns, depth, strict=True))


_SNAPSHOT = _PARTS + union(SNAPSHOT_PARTS)
_HEAD = _PARTS + union({kind: part for kind, part in SNAPSHOT_PARTS.items() if kind != "element"})
_HISTORY = _PARTS + union(HISTORY_PARTS)

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Query:
    """One statement and the values bound to it."""

    text: str
    values: tuple[str | int | float | bytes | None, ...]


def snapshot_query(run_id: str) -> Query:
    """All rows of one run in a single statement, and so as of one moment."""
    return Query(_SNAPSHOT, (as_bytes(run_id),))


def head_query(run_id: str) -> Query:
    """The same without the elements of lists."""
    return Query(_HEAD, (as_bytes(run_id),))


COUNT_RUNS = Query("SELECT count(*) FROM runs", ())
LAST_STORED = Query(
    "SELECT max(coalesce((SELECT max(rk) FROM runs), 0),"
    " coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'runs'), 0))",
    (),
)


def ids_query(after: str, limit: int) -> Query:
    """A page of the ids of runs."""
    text = "SELECT run_id FROM runs WHERE run_id > CAST(? AS TEXT) ORDER BY run_id LIMIT ?"
    return Query(text, (as_bytes(after), limit))


_OF_RUNS = (
    "attempts",
    "blob_refs",
    "effects",
    "frames",
    "history",
    "items",
    "labels",
    "list_refs",
    "migrated",
    "past_items",
    "signals",
    "vals",
    "waits",
)
_NO_RUN = "rk NOT IN (SELECT rk FROM runs) AND rk NOT IN (SELECT maker FROM leavings WHERE number = -1)"
ORPHANS = " UNION ALL ".join(
    f"SELECT '{table}', count(*), count(DISTINCT rk) FROM {table} WHERE {_NO_RUN}" for table in _OF_RUNS
)
UNUSED_LISTS = """
WITH unused AS (
  SELECT maker, number FROM (SELECT maker, number FROM lists UNION SELECT maker, number FROM elements)
  EXCEPT SELECT maker, number FROM list_refs
  EXCEPT SELECT base_maker, base_number FROM lists WHERE base_maker IS NOT NULL
  EXCEPT SELECT maker, number FROM leavings
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
TABLE_NAMES = """
SELECT 'sqlite_schema' UNION ALL SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
"""


def integrity_query(table: str) -> Query:
    """What SQLite finds wrong with a table and its indexes; of `sqlite_schema`, with the list of unused pages."""
    return Query(f"""PRAGMA integrity_check('{table.replace("'", "''")}')""", ())


def history_query(run_id: str, after: int, limit: int) -> Query:
    """A page of the versions of one run, with all that they refer to, in a single statement."""
    return Query(_HISTORY, (as_bytes(run_id), after, limit))


def elements_query(run_id: str, path: str, key: str, after: int, limit: int) -> Query:
    """Elements of a list of one run, those that belong to lists that it begins with included."""
    return Query(_LIST, (as_bytes(run_id), as_bytes(path), as_bytes(key), after, after, limit))


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


LEAVINGS = Query("SELECT 1 FROM leavings LIMIT 1", ())


def old_keys_query(before: int) -> Query:
    """Whether a key is remembered of a run that ended before a time."""
    return Query("SELECT 1 FROM keys WHERE ended_at < ? LIMIT 1", (before,))


as_text: Final[Callable[[bytes], str]] = partial(str, encoding="utf-8", errors="surrogateescape")
"""Text of any bytes: damaged text concerns its row only, while by default it would fail the whole query."""


def as_number(given: int | str) -> int:
    """A number that SQLite can compare with others: beyond its largest one there is nothing.

    Raises:
        ValueError: It is no number.
    """
    return max(-_LARGEST, min(int(given), _LARGEST))


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
