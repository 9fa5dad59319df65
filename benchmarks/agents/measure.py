"""How time is taken."""

import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from time import perf_counter, process_time
from typing import TypeAlias

import anyio

Figures: TypeAlias = Mapping[str, float]
Measure: TypeAlias = Callable[[float], Figures]
Task: TypeAlias = Callable[[], Awaitable[object]]
Opened: TypeAlias = Callable[[], AbstractAsyncContextManager[Task]]


@contextmanager
def frozen() -> Iterator[None]:
    """Garbage is collected meanwhile, but what was there before is left out of that: imports are not measured."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def as_opened(task: Task) -> Opened:
    """A task that needs nothing to be open."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Task]:
        yield task

    return opened


def cost(opened: Opened, number: int, *, parts: int = 1) -> Figures:
    """Seconds of processor and clock that one part of a task takes, done a number of times one after the other.

    The time of all threads of the process counts. There is a short run to warm up.

    Args:
        opened: Opens what the task needs, which is not measured.
        number: How many times it is done.
        parts: How many parts it has.
    """

    async def timed() -> Figures:
        async with opened() as task:
            for _ in range(max(1, number // 10)):
                await task()
            with frozen():
                cpu, wall = process_time(), perf_counter()
                for _ in range(number):
                    await task()
                cpu, wall = process_time() - cpu, perf_counter() - wall
        return {"cpu": cpu / number / parts, "wall": wall / number / parts}

    return anyio.run(timed)


def times(number: int, scale: float) -> int:
    """How many times something is done."""
    return max(1, round(number * scale))
