"""Clocks that jump: times are what they say, but no run ends before it has begun; nothing else depends on them."""

from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest
from anyio import fail_after
from tests.checkpoint._builders import save, started

from stagepost.checkpoint import Closing, Commit, MemoryStore, RunStatus, SqliteStore
from stagepost.checkpoint.testing import CHECKS, Check

JUMPS = {
    "back": (5_000_000_000.0, 0.0),
    "forth": (0.0, 5_000_000_000.0),
    "before 1970": (-1_000.0, -2_000.0),
    "still": (7.0, 7.0),
}


class Clock:
    """Says what it is told to, and then the last of it for ever."""

    def __init__(self, *times: float) -> None:
        self._times: Iterator[float] = chain(times, repeat(times[-1]))

    def __call__(self) -> float:
        return next(self._times)


@pytest.mark.parametrize("times", JUMPS.values(), ids=JUMPS)
async def test_no_run_ends_before_it_has_begun(file: Path, times: tuple[float, float]) -> None:
    with fail_after(10):
        for store in (MemoryStore(clock=Clock(*times)), SqliteStore(file, clock=Clock(*times))):
            async with store:
                lease = await started(store)
                await store.commit(save(lease, 2))
                await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))
                run = (await store.load("run")).run
                assert run.created_at.timestamp() == times[0]
                assert run.finished_at is not None
                assert run.finished_at.timestamp() == max(times)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_store_conforms_with_a_clock_that_runs_backwards(check: Check) -> None:
    with fail_after(10):
        async with MemoryStore(clock=Clock(*range(100_000, 0, -1_000))) as store:
            await check(store)
