"""A clock that is set: what waits for the time ends when the time is there, neither before nor twice."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.workflows._words import Counted, Store, running

from stagepost.checkpoint import RunStatus
from stagepost.workflows import Chain, Sleep

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Clock:
    """Says what it was set to."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now.timestamp()


@pytest.mark.parametrize("back", [timedelta(minutes=1), timedelta(days=30), timedelta(days=365 * 70)], ids=str)
async def test_a_clock_set_back_ends_no_sleep_and_a_clock_set_forth_ends_it_once(store: Store, back: timedelta) -> None:
    clock, counted = Clock(), Counted()
    work = Chain("work", [Sleep("nap", timedelta(hours=1)), counted.adds("woken")])
    async with running(store, work, clock=clock) as runner:
        run = await runner.start(work, run_id="run")
        assert await run.settled() is RunStatus.WAITING
        (wait,) = (await store.load("run")).waits
        assert wait.due_at == NOON + timedelta(hours=1)
        for jump in (-back, -back / 2, timedelta(minutes=59)):
            clock.now = NOON + jump
            await runner.recover()
            assert (await store.info("run")).status is RunStatus.WAITING
        clock.now = NOON + timedelta(days=9)
        await runner.recover()
        await run.result()
        clock.now = NOON - back
        await runner.recover()
    assert counted.calls == ["woken"]


async def test_a_deadline_is_kept_over_a_restart_with_the_clock_set_back(store: Store) -> None:
    clock, counted = Clock(), Counted()
    work = Chain("work", [Sleep("nap", timedelta(hours=1)), counted.adds("woken")])
    async with running(store, work, clock=clock) as runner:
        await (await runner.start(work, run_id="run")).settled()
    clock.now = NOON - timedelta(days=2)
    async with running(store, work, clock=clock) as runner:
        await runner.recover()
        assert (await store.info("run")).status is RunStatus.WAITING
        (wait,) = await runner.waits()
        assert wait.due_at == NOON + timedelta(hours=1)
        clock.now = NOON + timedelta(hours=1)
        await runner.recover()
        await (await runner.get("run")).result()
    assert counted.calls == ["woken"]
