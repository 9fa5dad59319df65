"""Sleeping steps and due times: absolute, persisted, and no cost while they pass."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone

import anyio
import pytest
from tests.workflows._doors import Clock
from tests.workflows._words import NOTHING, PATIENCE, Counted, Store, running

from stagepost.checkpoint import MemoryStore, RunStatus, WaitKind
from stagepost.workflows import Chain, ChainError, DefinitionError, Graph, Parallel, Runner, Sleep, State, Wait, step

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


async def test_a_run_sleeps_in_the_store_and_goes_on_when_it_is_due(store: Store) -> None:
    clock, counted = Clock(), Counted()
    work = Chain("work", [counted.adds("before"), Sleep("night", timedelta(hours=8)), counted.adds("after")])
    async with running(store, work, clock=clock) as runner:
        run = await runner.start(work, run_id="r1")
        assert await run.settled() is RunStatus.WAITING
        (wait,) = await runner.waits()
        assert (wait.id, wait.kind, wait.due_at) == ("r1/night", WaitKind.TIMER, NEW_YEAR + timedelta(hours=8))
        clock.pass_(timedelta(hours=7))
        await runner.recover()
        assert run.status is RunStatus.WAITING
        clock.pass_(timedelta(hours=2))
        await runner.recover()
        assert dict(await run.result()) == {"path": ["before", "after"]}


async def test_a_later_process_lets_overdue_ones_go_on(store: Store) -> None:
    clock, counted = Clock(), Counted()
    work = Chain("work", [Sleep("night", timedelta(hours=8)), counted.adds("after")])
    async with running(store, work, clock=clock) as runner:
        await (await runner.start(work, run_id="r1")).settled()
    clock.pass_(timedelta(days=8))
    async with running(store, work, clock=clock) as runner:
        report = await runner.recover()
        assert report.resumed == ()  # it rests: that its time is up is found out behind that
        await (await runner.get("r1")).result()
    assert counted.calls == ["after"]


async def test_a_short_sleep_ends_by_itself(store: Store) -> None:
    work = Chain("work", [Sleep("blink", 0.01), Sleep("again", timedelta(milliseconds=1))])
    async with running(store, work) as runner:
        await (await runner.start(work)).result()


async def test_a_run_sleeps_until_a_moment_that_its_state_names(store: Store) -> None:
    clock = Clock()

    def moment(state: State) -> datetime:
        return datetime.fromisoformat(state["at"])

    work = Chain("work", [Sleep("night", until=moment)])
    at = (NEW_YEAR + timedelta(days=1)).astimezone(timezone(timedelta(hours=5)))
    async with running(store, work, clock=clock) as runner:
        run = await runner.start(work, {"at": at.isoformat()}, run_id="r1")
        await run.settled()
        (wait,) = await runner.waits()
        assert wait.due_at == at
        clock.pass_(timedelta(days=1))
        await runner.recover()
        await run.result()


async def test_a_moment_that_has_passed_is_over_at_once(store: Store) -> None:
    work = Chain("work", [Sleep("night", until=lambda _: datetime(1990, 1, 1, tzinfo=UTC)), Sleep("none", 0)])
    async with running(store, work) as runner:
        await (await runner.start(work)).result()


@pytest.mark.parametrize("moment", [datetime(2026, 1, 1), "2026-01-01", None], ids=repr)  # noqa: DTZ001  # that is the point
async def test_a_moment_without_a_time_zone_is_refused(moment: object) -> None:
    with pytest.raises(ChainError, match="until= of sleep 'night' must give a datetime with a time zone"):
        await Chain("work", [Sleep("night", until=lambda _: moment)]).run()


@pytest.mark.parametrize("options", [{}, {"duration": 1, "until": lambda _: NEW_YEAR}], ids=["none", "both"])
def test_a_sleep_has_a_duration_or_a_moment(options: dict[str, object]) -> None:
    with pytest.raises(DefinitionError, match="say how long or until when"):
        Sleep("night", **options)  # type: ignore[arg-type]  # of either kind


async def test_in_memory_it_just_sleeps() -> None:
    with anyio.fail_after(PATIENCE):
        before = anyio.current_time()
        await Chain("work", [Sleep("blink", 0.02), Sleep("past", until=lambda _: NEW_YEAR.replace(year=1990))]).run()
        assert anyio.current_time() - before >= 0.02


async def test_each_visit_and_item_sleeps_for_itself(store: Store) -> None:
    def turn(state: State) -> Mapping[str, object]:
        return {"rounds": state.get("rounds", 0) + 1}

    graph = Graph("graph")
    graph.add("fan", Parallel("fan", Chain("item", [Sleep("nap", 0.001)]), over="items"))
    graph.add("turn", step("turn", turn, inline=True))
    graph.add("end", Sleep("end", 0.001))
    graph.edge("fan", "turn")
    graph.edge("turn", "fan", when=lambda state: state["rounds"] < 3)
    graph.edge("turn", "end")
    graph.start("fan")
    graph.finish("end")
    async with running(store, graph) as runner:
        await (await runner.start(graph, {"items": [1, 2]}, run_id="r1")).result()
        places = sorted(wait.place for wait in (await store.load("r1")).waits)
    assert places == sorted(["end#1", *(f"fan[{i}]/nap#{visit}.0" for i in range(2) for visit in (1, 2, 3))])


@pytest.mark.parametrize("jump", [timedelta(days=1), timedelta(days=-1)], ids=["forwards", "backwards"])
async def test_a_clock_that_jumps_neither_loses_a_sleep_nor_hangs(store: Store, jump: timedelta) -> None:
    clock, counted = Clock(), Counted()
    work = Chain("work", [Sleep("night", timedelta(hours=8)), counted.adds("after")])
    async with running(store, work, clock=clock) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        clock.pass_(jump)
        await runner.recover()
        if jump < timedelta():
            assert run.status is RunStatus.WAITING
            clock.pass_(timedelta(hours=32))  # its due time is absolute
            await runner.recover()
        await run.result()
    assert counted.calls == ["after"]


async def test_only_the_next_due_time_is_kept_in_memory(store: Store) -> None:
    clock = Clock()
    work = Chain("work", [Sleep("night", until=lambda state: datetime.fromisoformat(state["at"]))])
    async with running(store, work, clock=clock) as runner:
        runs = []
        for hours in (5, 3, 9, 3):
            at = NEW_YEAR + timedelta(hours=hours)
            runs.append(await runner.start(work, {"at": at.isoformat()}))
        for run in runs:
            await run.settled()
        await anyio.wait_all_tasks_blocked()
        assert runner._dispatcher is not None
        timers = runner._dispatcher.watcher.timers
        assert timers._next_at == NEW_YEAR + timedelta(hours=3)
        for passed, left, over in ((4, 5, (1, 3)), (6, 9, (0,))):
            clock.now = (NEW_YEAR + timedelta(hours=passed)).timestamp()
            await runner.recover()
            assert timers._next_at == NEW_YEAR + timedelta(hours=left)
            for number in over:
                await runs[number].result()
        assert [run.status.is_open for run in runs] == [False, False, True, False]


async def open_sleeps(store: Store) -> int:
    return len((await store.waits(limit=1000)).items)


async def test_many_that_are_due_end_in_batches(store: Store) -> None:
    clock = Clock()
    work = Chain("work", [Sleep("night", timedelta(hours=8))])
    async with running(store, work, clock=clock, max_running=None) as runner:
        runs = [await runner.start(work, run_id=f"r{number:03}") for number in range(250)]
        for run in runs:
            await run.settled()
    sizes: list[int] = []
    expire = store.expire

    async def watched(now: float, limit: int = 100) -> object:
        waiting = await open_sleeps(store)
        due = await expire(now, limit)
        sizes.append(waiting - await open_sleeps(store))
        return due

    store.expire = watched  # type: ignore[method-assign, assignment]  # watched, not replaced
    clock.pass_(timedelta(days=1))
    async with running(store, work, clock=clock) as runner:
        await runner.recover()
        for number in range(250):
            await (await runner.get(f"r{number:03}")).result()
    assert sizes[:3] == [100, 100, 50]


async def test_a_wait_that_is_answered_in_time_does_not_expire(store: Store) -> None:
    clock = Clock()
    work = Chain("work", [Wait("ask", within=60, otherwise="late"), Wait("next")])
    async with running(store, work, clock=clock) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        await runner.answer("r1/ask", "in time")
        await run.settled()
        clock.pass_(timedelta(days=1))
        await runner.recover()
        await runner.answer("r1/next", 1)
        assert (await run.result())["ask"] == "in time"


async def test_a_runner_whose_runs_sleep_sleeps_too() -> None:
    """Nothing is looked at more often than once a minute."""
    store, looks = MemoryStore(), list[float]()
    expire = store.expire

    async def watched(now: float, limit: int = 100) -> object:
        looks.append(now)
        return await expire(now, limit)

    store.expire = watched  # type: ignore[method-assign, assignment]  # watched, not replaced
    work = Chain("work", [Sleep("night", timedelta(hours=8)), NOTHING])
    with anyio.fail_after(PATIENCE):
        async with store, Runner(store, workflows=[work]) as runner:
            await (await runner.start(work)).settled()
            await anyio.wait_all_tasks_blocked()
            first = len(looks)
            await anyio.sleep(0.1)
            assert len(looks) == first <= 2
    assert math.isfinite(sum(looks))
