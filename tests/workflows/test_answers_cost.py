"""Answers to one run cost the same each, however many it waits for: counted by what is read, not by time."""

from collections.abc import Iterator
from itertools import count

import pytest
from tests.workflows._words import running

from stagepost.checkpoint import Latest, MemoryStore, RunStatus, Snapshot
from stagepost.workflows import Chain, Parallel, Wait
from stagepost.workflows._execution import _execution
from stagepost.workflows._runner import _executor


class Counting(MemoryStore):
    """Counts what is read of runs."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded = 0
        self.read = 0

    async def load(self, run_id: str, *, at: int | None = None) -> Snapshot:
        self.loaded += 1
        return await super().load(run_id, at=at)

    async def news(self, run_id: str, after: int) -> Latest:
        latest = await super().news(run_id, after)
        self.read += len(latest.waits)
        return latest


def slow_clock() -> Iterator[float]:
    """Taking a run up takes ten seconds."""
    return (10.0 * number for number in count())


@pytest.mark.parametrize("number", [10, 300])
async def test_a_run_that_was_dear_to_take_up_is_taken_up_once_for_many_answers(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = slow_clock()
    monkeypatch.setattr(_executor, "perf_counter", lambda: next(ticks))
    store = Counting()
    work = Chain("work", [Parallel("fan", Wait("ask"), over="items", workers=3)])
    async with running(store, work) as runner:
        run = await runner.start(work, {"items": list(range(number))}, run_id="r")
        assert await run.settled() is RunStatus.WAITING
        for item in range(number):
            await runner.answer(f"r/fan[{item}]:ask", item)
        assert (await run.result())["fan"] == list(range(number))
    assert store.loaded == 1
    assert store.read <= 2 * number  # each once, or twice where two were reading when it came


async def test_a_run_that_was_cheap_to_take_up_rests_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_executor, "perf_counter", lambda: 0.0)
    store = Counting()
    work = Chain("work", [Parallel("fan", Wait("ask"), over="items", workers=3)])
    async with running(store, work) as runner:
        run = await runner.start(work, {"items": [0, 1, 2]}, run_id="r")
        for item in range(3):
            await run.settled()
            await runner.answer(f"r/fan[{item}]:ask", item)
        await run.result()
    assert store.loaded == 3


def test_what_counts_as_cheap_is_shorter_than_anybody_notices() -> None:
    assert _execution._CHEAP <= 0.01


@pytest.mark.parametrize("shape", ["same", "other"])
async def test_parked_runs_of_the_same_shape_are_not_read_by_recover(shape: str) -> None:
    store, work = Counting(), Chain("work", [Wait("ask")])
    async with running(store, work) as runner:
        for number in range(20):
            await (await runner.start(work, run_id=f"r{number}")).settled()
    changed = Chain("work", [Wait("ask"), Wait("more")]) if shape == "other" else Chain("work", [Wait("ask")])
    store.loaded = 0
    async with running(store, changed) as runner:
        report = await runner.recover()
        assert (report.resumed, dict(report.left_open)) == ((), {})
    assert store.loaded == (20 if shape == "other" else 0)
