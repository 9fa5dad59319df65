"""Small records and fault injection for the tests of the checkpoint layer."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from stagepost.checkpoint import CheckpointStore, Closing, Commit, Frame, Lease, NewRun, RunStatus
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch

T = TypeVar("T")


def new_run(run_id: str = "run") -> NewRun:
    return NewRun(run_id, "digest", 1, None, b"{}", 0, frame(1))


def frame(seq: int, **state: bytes) -> Frame:
    return Frame("", seq, "next", state)


async def started(store: CheckpointStore, run_id: str = "run") -> Lease:
    lease, _ = await store.create(new_run(run_id))
    assert lease is not None
    return lease


async def claimed(store: CheckpointStore, run_id: str = "run", *, reopen: bool = False) -> Lease:
    """The lease of somebody who joins for a claim, and leaves."""
    owner = await store.join("somebody")
    try:
        return await store.claim(owner, run_id, reopen=reopen)
    finally:
        await store.leave(owner)


def save(lease: Lease, seq: int, **state: bytes) -> Commit:
    return Commit(lease=lease, frame=frame(seq, **state))


def failed(lease: Lease, error: str) -> Commit:
    return Commit(lease=lease, closing=Closing(RunStatus.FAILED, error))


class Batches:
    """Counts batches, and runs `before` with the connection ahead of each."""

    def __init__(self, before: Callable[[sqlite3.Connection], object] = lambda _: None) -> None:
        self.sizes: list[int] = []
        self.before = before

    def __call__(self, connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        self.sizes.append(len(batch))
        self.before(connection)
        return run_batch(connection, batch)


def sqlite_error(code: int, text: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


def connect(file: Path) -> Callable[[], sqlite3.Connection]:
    """A plain table in WAL mode, for tests of the writer alone."""

    def open_it() -> sqlite3.Connection:
        connection = sqlite3.connect(file, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("CREATE TABLE IF NOT EXISTS t (x PRIMARY KEY)")
        return connection

    return open_it


def insert(value: object) -> Callable[[sqlite3.Connection], int]:
    def work(connection: sqlite3.Connection) -> int:
        return connection.execute("INSERT INTO t VALUES (?)", (value,)).rowcount

    return work


def rows(file: Path) -> list[object]:
    connection = sqlite3.connect(file)
    try:
        return [row[0] for row in connection.execute("SELECT x FROM t ORDER BY x")]
    finally:
        connection.close()
