"""What schedules and limits cost: ``python -m benchmarks.workflows.schedules [schedules] [due] [in line]``.

Processor time of a runner with many schedules of which none is due; the time in which many start that are due at the
same time, saved to a file; and the time for each of many runs that wait in line for a limit.
"""

import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from time import perf_counter, process_time, time

import anyio

from stagepost.checkpoint import RunStatus, SqliteStore, StoredSchedule
from stagepost.workflows import Chain, RunLimit, Runner, step

IDLE = 5.0
work = Chain("work", [step("nothing", lambda _: None, inline=True)])


class Clock:
    """The time of the machine, and what passes by command."""

    def __init__(self) -> None:
        self.passed = 0.0

    def __call__(self) -> float:
        """Seconds since 1970."""
        return time() + self.passed


async def schedules(number: int, due: int) -> tuple[float, float]:
    """Share of a core while nothing is due, and milliseconds until all that are due have started and ended."""
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "runs.db")
        async with store, Runner(store, workflows=[work], clock=clock) as runner:
            first = await runner.schedule(work, timedelta(hours=1), key="first")
            stored = await store.schedule(first.key)
            async with anyio.create_task_group() as tasks:
                for count in range(number - 1):
                    tasks.start_soon(store.save_schedule, again(stored, count, hours=1 if count < due - 1 else 48))
            await runner.recover()
            began = process_time()
            await anyio.sleep(IDLE)
            idle = (process_time() - began) / IDLE
            clock.passed = 3600.5
            began = perf_counter()
            await runner.recover()
            while (await count_ended(runner)) < due:  # noqa: ASYNC110  # others end them
                await anyio.sleep(0.005)
            return idle, (perf_counter() - began) * 1000


def again(stored: StoredSchedule, count: int, *, hours: int) -> StoredSchedule:
    """The same schedule under another key, due after some hours."""
    later = stored.created_at + timedelta(hours=hours)
    return stored._replace(key=f"key {count}", revision=0, due_at=later, look_at=later)


async def in_line(number: int, *limits: RunLimit) -> float:
    """Microseconds for each of many runs that were all started before the first of them ends."""
    go = anyio.Event()

    async def wait(_: object) -> None:
        await go.wait()

    held = Chain("held", [step("wait", wait)])
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "runs.db", durability="process")
        async with store, Runner(store, workflows=[held], limits=limits, max_running=10) as runner:
            began = process_time()
            async with anyio.create_task_group() as tasks:
                for count in range(number):
                    tasks.start_soon(start, runner, held, count)
            go.set()
            while (await count_ended(runner)) < number:  # noqa: ASYNC110  # others end them
                await anyio.sleep(0.05)
            return (process_time() - began) / number * 1_000_000


async def count_ended(runner: Runner) -> int:
    """How many runs have ended."""
    return (await runner.runs.count(status=RunStatus.COMPLETED)).total


async def start(runner: Runner, workflow: Chain, count: int) -> None:
    """Start a run of one of a hundred customers."""
    await runner.start(workflow, labels={"customer": f"c{count % 100}"})


async def main(*numbers: int) -> None:
    """Measure all of it."""
    number, due, line = numbers
    idle, started = await schedules(number, due)
    print(
        f"{number} schedules, none due: {idle:.2%} of a core; {due} due at once: {started:.0f} ms until all have ended"
    )
    free = await in_line(line)
    limited = await in_line(line, RunLimit(workflow="held", at_once=10), RunLimit(label="customer", at_once=1))
    print(f"{line} runs in line: {free:.0f} µs of processor each for max_running, {limited:.0f} µs for two limits")


if __name__ == "__main__":
    given = [*map(int, sys.argv[1:]), *(10_000, 1_000, 5_000)[len(sys.argv) - 1 :]]
    anyio.run(main, *given)
