"""What an owner takes to hear of what other processes write, and what it costs it to listen while there is nothing.

``python -m benchmarks.workflows.beside SIDE PATH COUNT`` is the other process: it writes, and says when each was done.
"""

import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from statistics import quantiles
from subprocess import PIPE, Popen
from typing import Final

import anyio
from benchmarks.workflows.measure import database

from stagepost.checkpoint import Frame, NewRun, SqliteStore

ASKED: Final = 0.2  # seconds between two looks whether somebody has written
_PAUSE: Final = 0.3  # the longest pause between two words, in seconds
_MADE: Final = "CREATE TABLE words (number INTEGER PRIMARY KEY) STRICT"


def ours_hears(number: int) -> float:
    """Seconds from the acknowledgement of a word of another process until the owner is told, at the 99th percentile."""
    return anyio.run(_hear, number)


def ours_idles(number: int) -> float:
    """The part of a core that an owner takes which listens and is told nothing, in a number of tenths of a second."""
    return anyio.run(_idle, number / 10)


def bare_hears(number: int) -> float:
    """The same of a thread that asks SQLite five times a second."""
    with database() as path, closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(_MADE)
        with _writer("bare", path, number) as said:
            heard = list(_polled(connection, number))
            return _late(heard, said())


def bare_idles(number: int) -> float:
    """The same of such a thread."""
    with database() as path:
        stopped = threading.Event()
        thread = threading.Thread(target=_ask, args=(path, stopped))
        thread.start()
        began, used = time.monotonic(), time.process_time()
        time.sleep(number / 10)
        share = (time.process_time() - used) / (time.monotonic() - began)
        stopped.set()
        thread.join()
    return share


async def _hear(number: int) -> float:
    with database() as path:
        async with SqliteStore(path) as store:
            owner = await store.join("owner")
            await store.create(NewRun("run", "heard", 1, None, b"{}", owner.id, Frame("", 1, "next", {})))
            heard: list[float] = []
            with _writer("ours", path, number) as said:
                async for change in store.changes(owner):
                    news: int = getattr(change, "news", 0)
                    heard += [time.monotonic()] * (news - len(heard))
                    await store.heard(owner, {"run": news})
                    if len(heard) == number:
                        break
                return _late(heard, await anyio.to_thread.run_sync(said))


async def _idle(seconds: float) -> float:
    with database() as path:
        async with SqliteStore(path) as store, anyio.create_task_group() as tasks:
            tasks.start_soon(_listen, store)
            await anyio.sleep(1)  # the WAL is copied once
            began, used = time.monotonic(), time.process_time()
            await anyio.sleep(seconds)
            share = (time.process_time() - used) / (time.monotonic() - began)
            tasks.cancel_scope.cancel()
    return share


async def _listen(store: SqliteStore) -> None:
    async for change in store.changes(await store.join("owner")):
        raise AssertionError(f"{change} is told, and nobody has written")


def _polled(connection: sqlite3.Connection, number: int) -> Iterator[float]:
    seen, version = 0, None
    while seen < number:
        time.sleep(ASKED)
        found = connection.execute("PRAGMA data_version").fetchone()
        if found != version:
            version = found
            (now,) = connection.execute("SELECT count(*) FROM words").fetchone()
            yield from [time.monotonic()] * (now - seen)
            seen = now


def _ask(path: Path, stopped: threading.Event) -> None:
    with closing(sqlite3.connect(path)) as connection:
        while not stopped.wait(ASKED):
            connection.execute("PRAGMA data_version").fetchone()


@contextmanager
def _writer(side: str, path: Path, number: int) -> Iterator[Callable[[], list[float]]]:
    """Another process that writes words; what it said is when each was acknowledged."""
    command = [sys.executable, "-m", "benchmarks.workflows.beside", side, str(path), str(number)]
    with Popen(command, stdout=PIPE, text=True) as program:  # noqa: S603 - our own program
        yield lambda: [float(line) for line in program.stdout or ()]


def _late(heard: list[float], said: list[float]) -> float:
    """The 99th percentile of how much later each was heard than said."""
    late = [max(0.0, one - two) for one, two in zip(heard, said, strict=True)]
    return quantiles(late, n=100, method="inclusive")[-1]


async def _write(path: str, number: int) -> None:
    pauses = Random(7)  # noqa: S311 - no secrets
    async with SqliteStore.inbox(path) as inbox:
        for _ in range(number):
            await anyio.sleep(pauses.uniform(0, _PAUSE))
            await inbox.signal("run", "word", b"1")
            print(time.monotonic(), flush=True)


def _insert(path: str, number: int) -> None:
    pauses = Random(7)  # noqa: S311 - no secrets
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for _ in range(number):
            time.sleep(pauses.uniform(0, _PAUSE))
            connection.execute("INSERT INTO words DEFAULT VALUES")
            print(time.monotonic(), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "ours":
        anyio.run(_write, sys.argv[2], int(sys.argv[3]))
    else:
        _insert(sys.argv[2], int(sys.argv[3]))
