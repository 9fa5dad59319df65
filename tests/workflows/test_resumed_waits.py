"""What a run waits for while it has failed, or while its owner is dead, is looked after again once it goes on."""

from collections.abc import Sequence
from datetime import timedelta

import anyio
import pytest
from anyio import fail_after
from tests.workflows._doors import Clock
from tests.workflows._words import PATIENCE, Counted, Store, running

from stagepost.checkpoint import MemoryStore, RunStatus
from stagepost.workflows import Chain, Parallel, Pattern, RunFailed, Runner, Sleep, Wait

AT_ONCE = Chain("at-once", [Sleep("short", 0)])


def failing(counted: Counted, nap: float, mended: Sequence[object]) -> Pattern:
    """One branch sleeps, and the other fails until it is mended."""
    fails = Chain("fails", [Wait("go"), counted.fails("fail", lambda: bool(mended))])
    return Chain("work", [Parallel("both", {"naps": Sleep("nap", nap), "fails": fails})])


async def fail(runner: Runner, work: Pattern) -> None:
    """Let run ``r1`` fail while it sleeps, and then the store be asked what is due."""
    run = await runner.start(work, run_id="r1")
    await run.settled()
    await runner.answer("r1/both[1]/go", 1)
    with pytest.raises(RunFailed):
        await run.result()
    await (await runner.start(AT_ONCE)).result()


@pytest.mark.parametrize("is_next", [False, True], ids=["same process", "next process"])
async def test_a_time_that_has_come_while_a_run_had_failed_has_come_when_it_is_resumed(
    store: Store,
    is_next: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    clock, mended = Clock(), list[object]()
    work = failing(Counted(), 60, mended)
    async with running(store, work, AT_ONCE, clock=clock) as runner:
        await fail(runner, work)
        clock.pass_(timedelta(minutes=2))
        await (await runner.start(AT_ONCE)).result()
        mended.append("now")
        if not is_next:
            await (await runner.resume("r1")).result()
    if is_next:
        async with running(store, work, AT_ONCE, clock=clock) as runner:
            await runner.recover()
            await (await runner.resume("r1")).result()


async def test_a_time_that_comes_after_a_run_was_resumed_comes(store: Store) -> None:
    mended = list[object]()
    work = failing(Counted(), 0.5, mended)
    async with running(store, work, AT_ONCE) as runner:
        await fail(runner, work)
        mended.append("now")
        run = await runner.resume("r1")
        await run.result()
        assert run.status is RunStatus.COMPLETED


async def test_times_of_an_owner_that_has_left_come_at_another_one() -> None:
    store, work = MemoryStore(owners=2, ttl=0.4), Chain("work", [Sleep("nap", 0.3)])
    with fail_after(PATIENCE):
        async with store, Runner(store, workflows=[work]) as second:
            await second.recover()
            async with Runner(store, workflows=[work]) as first:
                await (await first.start(work, run_id="r1")).settled()
            while (await store.info("r1")).status.is_open:  # noqa: ASYNC110  # heartbeats go by real time
                await anyio.sleep(0.01)
            assert (await store.info("r1")).status is RunStatus.COMPLETED
