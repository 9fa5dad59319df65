"""Runs that ended long ago are forgotten; those that are open are kept, however old."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import anyio
import pytest
from tests.workflows._words import Gate, Store, running

from stagepost.checkpoint import Keep, MemoryStore, RunNotFound, RunStatus, StoreFull
from stagepost.workflows import Chain, RunCancelled, RunFailed, State, step

DAY = 86_400.0


async def finish(state: State) -> None:
    return None


async def ids(store: Store) -> list[str]:
    return [run.run_id for run in (await store.find(limit=1000)).items]


async def until(store: Store, wanted: list[str]) -> None:
    while await ids(store) != wanted:
        pass


def days_later(days: float, store: Store) -> float:
    return store._clock() + days * DAY


async def test_runs_are_forgotten_thirty_days_after_their_end(store: Store) -> None:
    gate, work, open_ = Gate(), Chain("work", [finish]), Chain("open", [Gate().step])
    async with running(store, work, open_, grace=0) as runner:
        for number in range(50):  # more than one transaction deletes
            await (await runner.start(work, run_id=f"run-{number:02}")).result()
        await runner.start(open_, run_id="still-open")
    assert gate.calls == 0
    async with running(store, work, open_, grace=0, clock=lambda: days_later(29, store)):
        await anyio.wait_all_tasks_blocked()
        assert len(await ids(store)) == 51
    async with running(store, work, open_, grace=0, clock=lambda: days_later(31, store)):
        await until(store, ["still-open"])
        assert (await store.info("still-open")).status is RunStatus.RUNNING


async def test_how_long_can_be_chosen(store: Store) -> None:
    work = Chain("work", [finish])
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="run")).result()
    async with running(store, work, keep_for=None, clock=lambda: days_later(100_000, store)):
        await anyio.wait_all_tasks_blocked()
        assert await ids(store) == ["run"]
    async with running(store, work, keep_for=timedelta(hours=1), clock=lambda: days_later(0.1, store)):
        await until(store, [])


async def test_a_run_of_a_forgotten_key_starts_anew(store: Store) -> None:
    work = Chain("work", [finish])
    async with running(store, work) as runner:
        first = await runner.start(work, key="once")
        await first.result()
        await store.delete(first.id)
        second = await runner.start(work, key="once")
        await second.result()
        assert second.id != first.id


async def climb(state: State) -> dict[str, object]:
    return {"height": cast("int", state.get("height", 0)) + 1}


async def test_a_run_that_keeps_all_can_be_read_step_by_step(store: Store) -> None:
    work = Chain("work", [step(f"step-{number}", climb) for number in range(3)])
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="run", keep="all")).result()
        history = (await store.history("run")).items
        assert [version.frame.next for version in history] == ["step-0", "step-1", "step-2", None]
        assert [version.frame.state.get("height") for version in history] == [None, b"1", b"2", b"3"]


async def test_a_run_that_keeps_nothing_gives_its_result_and_is_gone(store: Store) -> None:
    work = Chain("work", [climb])
    async with running(store, work, keep=Keep.NONE) as runner:
        run = await runner.start(work, run_id="run")
        assert await run.result() == {"height": 1}
        assert await ids(store) == []
        with pytest.raises(RunNotFound):
            await runner.get("run")


async def test_what_stays_is_said_for_each_workflow_and_for_a_run(store: Store) -> None:
    one, two, three = (Chain(name, [climb]) for name in ("one", "two", "three"))
    async with running(store, one, two, three, keep={"one": "all", "two": "none"}) as runner:
        for workflow in (one, two, three):
            await (await runner.start(workflow, run_id=workflow.name)).result()
        await (await runner.start(two, run_id="kept", keep="result")).result()
        assert {run.run_id: run.keep for run in (await store.find()).items} == {
            "one": Keep.ALL,
            "three": Keep.RESULT,
            "kept": Keep.RESULT,
        }


async def test_a_run_that_keeps_nothing_and_fails_can_be_resumed(store: Store) -> None:
    broken = [True]

    async def break_once(state: State) -> None:
        if broken.pop() if broken else False:
            raise ValueError("broken")

    work = Chain("work", [climb, break_once])
    async with running(store, work, keep="none") as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(work, run_id="run")).result()
        assert await (await runner.resume("run")).result() == {"height": 1}
        assert await ids(store) == []


async def test_a_cancelled_run_that_keeps_nothing_is_gone(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, keep="none") as runner:
        run = await runner.start(work, run_id="run")
        await gate.entered.wait()
        await runner.cancel("run")
        with pytest.raises(RunCancelled):
            await run.result()
        assert await ids(store) == []


class Full(MemoryStore):
    """A store whose disk is full."""

    async def prune(self, before: datetime, *, limit: int = 100) -> int:  # noqa: ARG002  # the signature that it has
        raise StoreFull(Path("disk"))


async def test_a_sweep_that_a_full_disk_refuses_is_made_the_next_time() -> None:
    work, store = Chain("work", [finish]), Full()
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="run")).result()
        assert await ids(store) == ["run"]
