"""What a run's history takes: bytes beside a list that grows, and time to save and read it.

``python -m benchmarks.history`` prints the table of docs/benchmarks.md.
"""

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Annotated, Final, NamedTuple

import anyio
from anyio import to_thread

from stagepost.checkpoint import Keep, SqliteStore
from stagepost.workflows import END, Append, Graph, Runner, State, step

STEPS: Final = 5_000
SIZES: Final = (200, 500, 1_000, 2_000)
_PAGE: Final = 100


class Taken(NamedTuple):
    """What a run has taken.

    Attributes:
        file: Bytes on disk.
        save: Seconds of processor time of a step.
        read: Seconds of processor time of an entry that is read; 0 if there are none.
    """

    file: int
    save: float
    read: float


def growing(size: int) -> Graph:
    """A workflow that adds an element of so many characters to a list, in each of its steps."""

    def add(state: State) -> Mapping[str, object]:
        return {"n": state.get("n", 0) + 1, "log": ["x" * size]}

    graph = Graph("grows", types={"log": Annotated[list[str], Append]}, max_steps=None)
    graph.add("add", step("add", add, inline=True))
    graph.start("add")
    graph.edge("add", END, when=_is_done)
    graph.edge("add", "add")
    return graph


def _is_done(state: State) -> bool:
    return bool(state["n"] == STEPS)


async def taken(size: int, keep: Keep, folder: Path) -> Taken:
    """Run it, and read its history page by page."""
    graph = growing(size)
    async with (
        SqliteStore(folder / "runs.db", durability="process") as store,
        Runner(store, workflows=[graph]) as runner,
    ):
        began = process_time()
        await (await runner.start(graph, run_id="run", keep=keep)).result()
        save = (process_time() - began) / STEPS
        began, count = process_time(), 0
        if keep is Keep.ALL:
            count = await _read(runner)
        read = (process_time() - began) / max(count, 1)
    return Taken(await to_thread.run_sync(_size, folder), save, read)


async def _read(runner: Runner) -> int:
    """Read the history page by page; returns how many entries it has."""
    page = await runner.runs.history("run", limit=_PAGE)
    count = len(page.items)
    while page.next is not None:
        page = await runner.runs.history("run", after=page.next, limit=_PAGE)
        count += len(page.items)
    return count


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def main() -> None:
    """Measure, and print."""
    print(f"`python -m benchmarks.history` on {datetime.now(UTC):%Y-%m-%d}: Python {platform.python_version()}.\n")
    print("| an element of | the list | with its history | ÷ the list | without | a step | without | an entry, read |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    for size in SIZES:
        found = {}
        for keep in (Keep.RESULT, Keep.ALL):
            with TemporaryDirectory() as folder:
                found[keep] = anyio.run(taken, size, keep, Path(folder))
        kept, bare, whole = found[Keep.ALL], found[Keep.RESULT], STEPS * size
        files = f"{kept.file / 1e6:.1f} MB | {kept.file / whole:.2f} × | {bare.file / 1e6:.1f} MB"
        times = f"{kept.save * 1e6:.0f} µs | {bare.save * 1e6:.0f} µs | {kept.read * 1e6:.0f} µs"
        print(f"| {size:,} B | {whole / 1e6:.1f} MB | {files} | {times} |")


if __name__ == "__main__":
    main()
