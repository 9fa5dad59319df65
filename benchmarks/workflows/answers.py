"""How long an answer to one run takes that waits for 3,000: ``python -m benchmarks.workflows.answers [number]``."""

import sys
import tempfile
from pathlib import Path
from time import perf_counter

import anyio

from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Chain, Parallel, Runner, Wait


async def measure(number: int) -> tuple[float, float]:
    """Milliseconds until the first run rests, and for each answer until the run has ended."""
    work = Chain("work", [Parallel("fan", Wait("ask"), over="items", workers=10)])
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "runs.db", durability="process")
        async with store, Runner(store, workflows=[work]) as runner:
            began = perf_counter()
            run = await runner.start(work, {"items": list(range(number))}, run_id="r")
            await run.settled()
            rested = perf_counter()
            for item in range(number):
                await runner.answer(f"r/fan[{item}]:ask", item)
            await run.result()
            ended = perf_counter()
    return (rested - began) * 1000, (ended - rested) * 1000 / number


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000
    start, each = anyio.run(measure, count)
    print(f"{count} waits: opened in {start:.0f} ms, {each:.2f} ms per answer")
