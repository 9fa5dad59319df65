"""Keys and ids that outlive their runs, as functions over a connection that is inside a transaction.

Whoever starts something by a key wants it to happen once, however long ago the first time was. So when retention
deletes a run, what the caller has named it by stays: some two hundred bytes for each key or id, with an end of its own.
Names that were made for the run, and not given, go with it.
"""

import sqlite3
from hashlib import blake2b
from typing import Final

FREE_ID: Final = "NOT EXISTS (SELECT 1 FROM keys WHERE keys.workflow = '' AND keys.key = run.run_id)"
FREE_KEY: Final = "NOT EXISTS (SELECT 1 FROM keys WHERE keys.workflow = run.workflow AND keys.key = run.key)"
SELECT_REMEMBERED: Final = """
SELECT run_id, status, ended_at, start FROM keys
WHERE (workflow = '' AND key = ?) OR (workflow = ? AND key = ?) ORDER BY workflow
"""
_REMEMBER: Final = """
INSERT OR REPLACE INTO keys (workflow, key, run_id, status, ended_at, start)
SELECT {workflow}, {key}, run_id, status, finished_at, start_digest(CAST(workflow AS BLOB), input) FROM runs
WHERE (remembered & {bit}) <> 0 AND {key} IS NOT NULL AND {which}
"""
_PRUNE: Final = """
DELETE FROM keys WHERE (workflow, key) IN (
  SELECT workflow, key FROM keys WHERE ended_at < ? ORDER BY ended_at LIMIT ?
)
"""
_FREE: Final = "DELETE FROM keys WHERE run_id = ?"


def digest(workflow: bytes, data: bytes) -> bytes:
    """What tells whether two runs were started alike."""
    return blake2b(workflow + b"\0" + data, digest_size=16).digest()


def add_digest(connection: sqlite3.Connection) -> None:
    """Let statements make digests."""
    connection.create_function("start_digest", 2, digest, deterministic=True)


def remember(connection: sqlite3.Connection, which: str, values: tuple[str | int, ...]) -> None:
    """Keep the keys and ids of runs that are about to be deleted.

    Args:
        connection: The connection.
        which: What has to be so of their rows.
        values: What is bound to that.
    """
    connection.execute(_REMEMBER.format(workflow="''", key="run_id", bit=1, which=which), values)
    connection.execute(_REMEMBER.format(workflow="workflow", key="key", bit=2, which=which), values)


def free(connection: sqlite3.Connection, run_id: str) -> bool:
    """Let the key and the id of a run be used again; returns whether they were remembered."""
    return connection.execute(_FREE, (run_id,)).rowcount > 0


def prune_keys(connection: sqlite3.Connection, before: int, limit: int) -> int:
    """Forget keys and ids of runs that ended before a time, the oldest first; returns how many."""
    return connection.execute(_PRUNE, (before, limit)).rowcount
