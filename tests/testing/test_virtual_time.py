"""Time that a test lets pass."""

from datetime import UTC, datetime, timedelta

import anyio
import pytest
from anyio import fail_after

from stagepost.checkpoint import MemoryStore, RunStatus, SqliteStore
from stagepost.hub import InvalidArgument
from stagepost.testing import VirtualTime
from stagepost.workflows import Chain, RunLimit, Runner, RunnerNotOpen, Sleep, State, StepContext, Wait, step

BOTH = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


def note(state: State, context: StepContext) -> dict[str, object]:
    return {"at": [*state.get("at", []), context.clock()]}


when = step("when", note)


@BOTH
async def test_sleeps_end_when_the_test_says_so(virtual_time: VirtualTime) -> None:
    begin = virtual_time()
    work = Chain(
        "work", [Sleep("night", timedelta(hours=8)), when, Sleep("day", timedelta(hours=16)), step("later", note)]
    )
    async with MemoryStore(clock=virtual_time) as store, Runner(store, workflows=[work], clock=virtual_time) as runner:
        with fail_after(30):
            run = await runner.start(work)
            await virtual_time.advance(runner, timedelta(hours=23))
            assert run.status.is_open
            await virtual_time.advance(runner, 3600)
            assert run.status is RunStatus.COMPLETED
            assert (await run.result())["at"] == [begin + 8 * 3600, begin + 24 * 3600]
    assert virtual_time() == begin + 24 * 3600


async def test_time_passes_for_a_store_on_a_file(stagepost_store: SqliteStore, virtual_time: VirtualTime) -> None:
    work = Chain("work", [Wait("approve", within=timedelta(days=7), otherwise="no"), when])
    async with stagepost_store as store, Runner(store, workflows=[work], clock=virtual_time) as runner:
        with fail_after(30):
            run = await runner.start(work)
            await virtual_time.advance(runner, timedelta(days=8))
            assert not run.status.is_open
            assert (await runner.runs.info(run.id)).finished_at == datetime(2026, 1, 8, tzinfo=UTC)


@BOTH
async def test_schedules_start_their_runs_at_their_times(virtual_time: VirtualTime) -> None:
    work = Chain("work", [when])
    async with MemoryStore(clock=virtual_time) as store, Runner(store, workflows=[work], clock=virtual_time) as runner:
        with fail_after(30):
            await runner.schedule(work, timedelta(hours=6), key="often")
            await virtual_time.advance(runner, timedelta(days=1))
            runs = await runner.runs.list(labels={"schedule": "often"})
            assert {run.status for run in runs.items} == {RunStatus.COMPLETED}
            assert len(runs.items) == 4


@BOTH
async def test_lines_go_on_when_their_minute_is_over(virtual_time: VirtualTime) -> None:
    work = Chain("work", [when])
    limits = [RunLimit(workflow="work", per_minute=1)]
    async with (
        MemoryStore(clock=virtual_time) as store,
        Runner(store, workflows=[work], clock=virtual_time, limits=limits) as runner,
    ):
        with fail_after(30):
            runs = [await runner.start(work) for _ in range(3)]
            await virtual_time.advance(runner, 0)
            assert [run.status.is_open for run in runs] == [False, True, True]
            await virtual_time.advance(runner, timedelta(minutes=3))
            assert [run.status.is_open for run in runs] == [False, False, False]


@BOTH
async def test_it_waits_for_what_is_worked_on(virtual_time: VirtualTime) -> None:
    async def slow(state: State) -> dict[str, object]:
        await anyio.sleep(0.05)
        return {}

    work = Chain("work", [step("before", slow), Sleep("night", 60), step("after", slow)])
    async with MemoryStore(clock=virtual_time) as store, Runner(store, workflows=[work], clock=virtual_time) as runner:
        with fail_after(30):
            run = await runner.start(work)
            await virtual_time.advance(runner, 60)
            assert run.status is RunStatus.COMPLETED


async def test_a_clock_begins_where_it_is_told(virtual_time: VirtualTime) -> None:
    assert virtual_time.now == datetime(2026, 1, 1, tzinfo=UTC)
    assert VirtualTime(datetime(2030, 5, 1, tzinfo=UTC)).now == datetime(2030, 5, 1, tzinfo=UTC)
    with pytest.raises(ValueError, match="has no time zone"):
        VirtualTime(datetime(2030, 5, 1))  # noqa: DTZ001  # what is refused


async def test_time_passes_forward_and_for_a_runner_that_works(virtual_time: VirtualTime) -> None:
    store = MemoryStore(clock=virtual_time)
    with pytest.raises(InvalidArgument):
        await virtual_time.advance(Runner(store), -1)
    with pytest.raises(RunnerNotOpen):
        await virtual_time.advance(Runner(store), 1)
