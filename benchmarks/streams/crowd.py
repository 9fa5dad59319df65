"""A thousand runs with a listener each, against the same runs without."""

import tracemalloc
from time import perf_counter, process_time
from typing import Final

import anyio
from benchmarks.agents.measure import Figures, frozen, times
from benchmarks.streams.stage import looping, running

from stagepost.agents import Tasks

_RUNS: Final = 1_000
_TURNS: Final = 5


def work(scale: float) -> Figures:
    """Seconds of processor for a turn, with a listener for each run and without."""
    return {"ours": _cost(scale, is_heard=True), "floor": _cost(scale, is_heard=False)}


def late(scale: float) -> Figures:
    """Seconds until all runs have ended and all listeners know, and until all have ended without listeners."""
    return {"ours": _cost(scale, is_heard=True, clock=True), "floor": _cost(scale, is_heard=False, clock=True)}


def memory(scale: float) -> Figures:
    """The most bytes that a run takes while all of them are worked on, with a listener for each and without."""
    return {"ours": _most(scale, is_heard=True), "floor": _most(scale, is_heard=False)}


def _cost(scale: float, *, is_heard: bool, clock: bool = False) -> float:
    async def measured() -> float:
        with frozen():
            timer = perf_counter if clock else process_time
            start = timer()
            number = await _all(times(_RUNS, scale), is_heard=is_heard)
            return (timer() - start) / (1 if clock else number * _TURNS)

    return anyio.run(measured)


def _most(scale: float, *, is_heard: bool) -> float:
    async def measured() -> float:
        tracemalloc.start()
        try:
            number = await _all(times(_RUNS, scale), is_heard=is_heard)
            return tracemalloc.get_traced_memory()[1] / number
        finally:
            tracemalloc.stop()

    return anyio.run(measured)


async def _all(number: int, *, is_heard: bool) -> int:
    """Start all runs, and see them to their ends."""
    agent = looping(_TURNS)

    async def run(name: str) -> None:
        started = await tasks.start(agent, "go", task_id=name)
        if not is_heard:
            await started.result()
            return
        async with tasks.stream(name) as stream:
            last = [part async for part in stream][-1]
        if last.type != "completed":
            raise RuntimeError(f"{name} has not been heard to its end: {last}")

    async with running(agent) as (runner, _), anyio.create_task_group() as group:
        tasks = Tasks(runner)
        for each in range(number):
            group.start_soon(run, f"r{each}")
    return number
