"""The least one can do: awaits without an engine, and commits of raw sqlite3 without anything around them."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from benchmarks.workflows.beside import bare_hears, bare_idles
from benchmarks.workflows.history import Mark, histories, message
from benchmarks.workflows.measure import Measure, at_once, bytes_each, database, kilobyte, seconds_each
from benchmarks.workflows.restart import restart

_TABLE = "CREATE TABLE states (run INTEGER PRIMARY KEY, seq INTEGER NOT NULL, state BLOB NOT NULL) STRICT"
_SAVE = "UPDATE states SET seq = seq + 1, state = ? WHERE run = 1"


async def _tick(state: Mapping[str, int]) -> Mapping[str, int]:
    return {"n": state["n"] + 1}


def awaits(number: int) -> float:
    """Seconds per step of a loop that awaits a function and merges what it returns."""

    async def loop(number: int) -> None:
        state: Mapping[str, int] = {"n": 0}
        for _ in range(number):
            state = {**state, **await _tick(state)}

    return seconds_each(loop, number)


def worker_tasks(number: int) -> float:
    """Seconds per item of sixteen tasks that share an iterator of items."""

    async def fan_out(number: int) -> None:
        items, values = iter(range(number)), [0] * number

        async def take() -> None:
            for item in items:
                values[item] = (await _tick({"n": item}))["n"]

        await at_once(16, take)

    return seconds_each(fan_out, number)


def _open(path: Path) -> sqlite3.Connection:
    """A database as durable as `SqliteStore` makes it, with one row of one kilobyte."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(_TABLE)
    connection.execute("INSERT INTO states VALUES (1, 0, ?)", (kilobyte().encode(),))
    return connection


@contextmanager
def _states() -> Iterator[sqlite3.Connection]:
    with database() as path, closing(_open(path)) as connection:
        yield connection


async def _save(connection: sqlite3.Connection, number: int) -> None:
    for _ in range(number):
        connection.execute(_SAVE, (kilobyte().encode(),))


def commits(number: int) -> float:
    """Seconds per commit of one row of one kilobyte."""
    with _states() as connection:
        return seconds_each(partial(_save, connection), number)


def bytes_of_commits(number: int) -> float:
    """Bytes written per commit of one row of one kilobyte."""
    with _states() as connection:
        return bytes_each(partial(_save, connection), number)


async def _talk(path: Path, turns: int, mark: Mark) -> None:
    """A row for each message, and one that says how many there are."""
    with closing(_open(path)) as connection:
        connection.execute(
            "CREATE TABLE messages (run INTEGER, turn INTEGER, body TEXT, PRIMARY KEY (run, turn)) STRICT"
        )
        for turn in range(turns):
            mark()
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE states SET seq = seq + 1 WHERE run = 1")
            connection.execute("INSERT INTO messages VALUES (1, ?, ?)", (turn, json.dumps(message())))
            connection.execute("COMMIT")
        mark()


MEASURES: Mapping[str, Measure] = {
    "chain": awaits,
    "cycle": awaits,
    "fan-out": worker_tasks,
    **dict.fromkeys(("1 run", "100 runs", "1,000 runs", "16 workers", "100 workers"), commits),
    "bytes": bytes_of_commits,
    **histories(_talk),
    "heard": bare_hears,
    "idle": bare_idles,
    "restart": partial(restart, "bare"),
    "restart without imports": partial(restart, "bare", imports=False),
}
