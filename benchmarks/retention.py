"""What retention and backups cost those who commit meanwhile, and what becomes of the file.

    python benchmarks/retention.py [RUNS]

Fills a store with finished runs, then commits to one run without pause while the runner's sweeper deletes the old ones,
while a backup is made, and while nothing else happens; prints how long commits took. Then it deletes a few large runs
(500 turns each, lists of 2,000 elements, and 10 MB of bytes beside), and fills and sweeps the file again and again to
show that it does not grow.
"""

import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from os import urandom
from pathlib import Path
from statistics import median
from time import perf_counter

import anyio
from anyio.lowlevel import checkpoint

from stagepost.checkpoint import Closing, Commit, Frame, Lease, NewRun, Ref, RunStatus, SqliteStore, StoredValue

LATER = datetime(3000, 1, 1, tzinfo=UTC)
STATE = {"text": b'"' + b"x" * 1000 + b'"'}
AT_ONCE = 500  # as the runner's sweeper does


def new_run(run_id: str) -> NewRun:
    """A run with a state of a kilobyte."""
    root = Frame("", 1, None, STATE)
    return NewRun(run_id, "work", 1, None, STATE["text"], 1, root, labels={"customer": run_id[-3:]})


async def finish(store: SqliteStore, run: NewRun) -> None:
    """Start a run and end it."""
    lease, _ = await store.create(run)
    if lease is not None:
        await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))


async def fill(store: SqliteStore, prefix: str, runs: int) -> None:
    """Finished runs."""
    for begin in range(0, runs, 500):
        async with anyio.create_task_group() as tasks:
            for number in range(begin, min(begin + 500, runs)):
                tasks.start_soon(finish, store, new_run(f"{prefix}-{number}"))


async def fill_large(store: SqliteStore, prefix: str, runs: int, elements: int, blob: int) -> None:
    """Finished runs with long lists, and bytes beside."""
    for number in range(runs):
        data = urandom(blob)
        values = [StoredValue("", 1, idx, b'"' + urandom(1500).hex().encode() + b'"') for idx in range(elements)]
        root = Frame("", 1, None, STATE, refs={"messages": Ref(1, elements)})
        run = replace(new_run(f"{prefix}-{number}"), root=root, values=values, blobs={sha256(data).hexdigest(): data})
        await finish(store, run)


async def commit_on(store: SqliteStore, lease: Lease, seq: list[int], took: list[float]) -> None:
    """Commit without pause."""
    while True:
        seq[0] += 1
        since = perf_counter()
        await store.commit(Commit(lease=lease, frame=Frame("", seq[0], "next", STATE)))
        took.append(perf_counter() - since)
        await checkpoint()


@asynccontextmanager
async def measured(name: str, store: SqliteStore, lease: Lease, seq: list[int]) -> AsyncIterator[None]:
    """Commits while the block is executed."""
    took = list[float]()
    wal = store.path.with_name(f"{store.path.name}-wal")
    since = perf_counter()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(commit_on, store, lease, seq, took)
        yield
        tasks.cancel_scope.cancel()
    seconds = perf_counter() - since
    took.sort()
    p50, p99, most = (value * 1000 for value in (median(took), took[int(len(took) * 0.99)], took[-1]))
    sizes = f"file {store.path.stat().st_size / 2**20:,.0f} MB, WAL {wal.stat().st_size / 2**20:,.0f} MB"
    times = f"p50 {p50:>5.2f}  p99 {p99:>6.2f}  max {most:>6.1f} ms"
    print(f"{name:<34} {seconds:>6.1f} s  commits: {len(took):>7,}  {times}  {sizes}")


async def prune(store: SqliteStore) -> None:
    """As the runner's sweeper does it."""
    while await store.prune(LATER, limit=AT_ONCE) == AT_ONCE:  # noqa: ASYNC110  # lets others commit
        await anyio.sleep(0.05)


async def main(runs: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "runs.db"
        async with SqliteStore(path) as store:
            await fill(store, "old", runs)
            lease, _ = await store.create(new_run("living"))
            if lease is None:
                return
            seq = [1]
            deeds: dict[str, Callable[[], Awaitable[object]]] = {
                "nothing else": lambda: anyio.sleep(5),
                "backup": lambda: store.backup(path.with_name("copy.db")),
                "verify": store.verify,
                f"retention of {runs:,} runs": lambda: prune(store),
            }
            for name, deed in deeds.items():
                async with measured(name, store, lease, seq):
                    await deed()
            for elements, blob in ((2000, 0), (20_000, 0), (0, 10 * 2**20)):
                await fill_large(store, "large", 5, elements, blob)
                async with measured(f"5 runs of {elements:,} elements, {blob >> 20} MB", store, lease, seq):
                    await prune(store)
            for generation in range(4):
                await fill(store, f"again-{generation}", runs // 10)
                await prune(store)
            print(f"after four more generations of {runs // 10:,} runs: file {path.stat().st_size / 2**20:,.0f} MB")


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
