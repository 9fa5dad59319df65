"""What encryption costs a commit: processor time and bytes of the WAL, with states of several sizes.

python benchmarks/encryption.py
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import anyio

from stagepost.checkpoint import CheckpointStore, Commit, EncryptedStore, Frame, NewRun, SqliteStore

COMMITS = 1000
KEY = bytes(range(32))


def length(path: Path) -> int:
    """Bytes of a file."""
    return path.stat().st_size


async def measure(store: CheckpointStore, wal: Path, state: dict[str, bytes]) -> tuple[float, float]:
    """Microseconds of all processors, and bytes, of a commit."""
    run = NewRun("run", "work", 1, None, b"{}", 1, Frame("", 1, "next", state))
    lease, _ = await store.create(run)
    if lease is None:
        raise RuntimeError("it is there already")
    size, since = length(wal), process_time()
    for seq in range(2, COMMITS + 2):
        await store.commit(Commit(lease=lease, frame=Frame("", seq, "next", state)))
    return (process_time() - since) / COMMITS * 1e6, (length(wal) - size) / COMMITS


async def main() -> None:
    """Measure and print."""
    wraps: dict[str, Callable[[CheckpointStore], CheckpointStore]] = {
        "plain": lambda store: store,
        "encrypted": lambda store: EncryptedStore(store, keys=KEY),
    }
    states = {
        "one value of 100 bytes": {"a": b'"' + b"x" * 98 + b'"'},
        "ten values of 100 bytes": {f"key-{number}": b'"' + b"x" * 98 + b'"' for number in range(10)},
        "one value of 100 KB": {"a": b'"' + b"x" * 100_000 + b'"'},
    }
    for size, state in states.items():
        for name, wrap in wraps.items():
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "runs.db"
                async with wrap(SqliteStore(file, durability="process")) as store:
                    micros, written = await measure(store, file.with_name("runs.db-wal"), state)
            print(f"{size:<26} {name:<10} {micros:>7.0f} µs  {written:>9,.0f} bytes of WAL")


if __name__ == "__main__":
    anyio.run(main)
