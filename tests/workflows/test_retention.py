"""Runs that ended long ago are forgotten; those that are open are kept, however old."""

from datetime import datetime, timedelta
from pathlib import Path

import anyio
from tests.workflows._words import Gate, Store, running

from stagepost.checkpoint import MemoryStore, RunStatus, StoreFull
from stagepost.workflows import Chain, State

DAY = 86_400.0


async def finish(state: State) -> None:
    return None


async def ids(store: Store) -> list[str]:
    return [run.run_id for run in await store.find(limit=1000)]


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


class Full(MemoryStore):
    """A store whose disk is full."""

    async def prune(self, before: datetime, *, limit: int = 100) -> int:  # noqa: ARG002  # the signature that it has
        raise StoreFull(Path("disk"))


async def test_a_sweep_that_a_full_disk_refuses_is_made_the_next_time() -> None:
    work, store = Chain("work", [finish]), Full()
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="run")).result()
        assert await ids(store) == ["run"]
