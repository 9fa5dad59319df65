"""A process that starts what is due is killed at every point of it: each time has one run, and none is missed.

Another process has four times to make up for, and kills itself at one of its transactions: before anything of it is
done, before it is committed, or after that. This process goes on at the same time of the clock, so that only what is
stored can tell it what was started.
"""

import signal
import sys
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from tests.workflows._doors import Clock
from tests.workflows._kills import forked
from tests.workflows._victim import POINTS, Killer, Store
from tests.workflows._words import PATIENCE, nothing, running

from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Chain, RunLimit, Runner, step

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

HOUR = timedelta(hours=1)
WORK = Chain("work", [step("one", nothing, inline=True), step("two", nothing, inline=True)])
LIMITS = [RunLimit(workflow="work", per_minute=100)]  # so that runs are counted in the store, too
POINTS_OF_SAVES = [point for point in POINTS if point != "acknowledged"]


async def main(*arguments: str) -> None:
    folder, point, number = arguments
    clock, killer = Clock(), Killer(point, int(number))
    clock.pass_(4 * HOUR)
    async with (
        Store(Path(folder) / "runs.db", killer) as store,
        Runner(store, workflows=[WORK], clock=clock, limits=LIMITS) as runner,
    ):
        await killer.runner_is_entered()
        await runner.recover()
        for info in (await runner.runs.list()).items:
            await (await runner.get(info.run_id)).result()


async def check(folder: Path, point: str, number: int) -> None:
    clock = Clock()
    async with running(SqliteStore(folder / "runs.db", durability="process"), WORK, clock=clock) as runner:
        await runner.schedule(WORK, HOUR, key="key", missed="all")
        await runner.schedule(WORK, 2 * HOUR, key="other", missed="once")
    with anyio.fail_after(PATIENCE):
        done = await forked(__file__, folder, point, number)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    clock.pass_(4 * HOUR)
    async with running(SqliteStore(folder / "runs.db", lock_timeout=5), WORK, clock=clock, limits=LIMITS) as runner:
        await runner.recover()
        for info in (await runner.runs.list()).items:
            await (await runner.get(info.run_id)).result()
        keys = sorted((info.key or "").removesuffix(":00:00+00:00") for info in (await runner.runs.list()).items)
        assert keys == [*(f"key@2026-01-01T0{hour}" for hour in (1, 2, 3, 4)), "other@2026-01-01T04"]
        assert (await runner.schedules.get("key")).not_started == 0
        assert (await runner.schedules.get("other")).not_started == 1


@pytest.mark.parametrize("number", [1, 2, 4])
@pytest.mark.parametrize("point", POINTS_OF_SAVES)
async def test_each_time_has_one_run_after_a_kill(tmp_path: Path, point: str, number: int) -> None:
    await check(tmp_path, point, number)


@pytest.mark.long
@pytest.mark.parametrize("number", range(1, 7))
@pytest.mark.parametrize("point", POINTS_OF_SAVES)
async def test_each_time_has_one_run_after_a_kill_at_each_transaction(tmp_path: Path, point: str, number: int) -> None:
    await check(tmp_path, point, number)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
