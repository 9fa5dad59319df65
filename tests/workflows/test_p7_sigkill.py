"""Kills at the very start, during recovery, of many runs at once, and at random times; see also the resume suite."""

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import anyio
import pytest
from tests.workflows._kills import (
    PATIENCE,
    environment,
    killed,
    left_behind,
    lines,
    recovered,
    stored_runs,
    uninterrupted,
    victim,
)
from tests.workflows._specimens import NAMES, specimens
from tests.workflows._victim import POINTS
from tests.workflows._waiting_specimens import WAITING, nameless
from tests.workflows._words import running

from stagepost.checkpoint import SqliteStore

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@pytest.mark.parametrize("point", POINTS, ids=lambda point: str(point).replace(" ", "-"))
async def test_p7_a_kill_at_the_very_start_loses_the_run_or_keeps_it_whole(tmp_path: Path, point: str) -> None:
    await killed(tmp_path, "chain", point, 1)
    stored = await stored_runs(tmp_path)
    if point in {"before the save", "before the commit"}:
        assert stored == ()
        return
    oracle = await uninterrupted("chain")
    assert (await recovered(tmp_path, ("chain",)))["chain"] == oracle.result
    assert Counter(lines(tmp_path / "notes")) == dict.fromkeys(oracle.steps, 1)


@pytest.mark.parametrize("point", POINTS, ids=lambda point: str(point).replace(" ", "-"))
async def test_p7_a_kill_during_a_fork_loses_the_fork_or_keeps_it_whole(tmp_path: Path, point: str) -> None:
    made = specimens(lambda _: None)["folds"]
    async with running(SqliteStore(tmp_path / "runs.db"), made.workflow, keep="all") as runner:
        run = await runner.start(made.workflow, made.state, run_id="folds")
        expected, before = await run.result(), await runner.store.load("folds")
    await killed(tmp_path, "folds", point, 1, "fork")
    stored = await stored_runs(tmp_path)
    assert await left_behind(tmp_path, "folds") == before
    assert stored == (("folds",) if point in {"before the save", "before the commit"} else ("folds", "fork"))
    async with running(SqliteStore(tmp_path / "runs.db"), made.workflow) as runner:
        await runner.recover()
        for run_id in stored:
            assert await (await runner.get(run_id)).result() == expected
        assert not await runner.store.check()


@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("chain", "before the commit"),
        ("parallel", "after the commit"),
        ("nested", "before the save"),
        ("asked", "before the commit"),
        ("effects", "after the commit"),
        ("rounds", "acknowledged"),
    ],
    ids=["chain", "parallel", "nested", "asked", "effects", "rounds"],
)
async def test_p7_a_kill_during_recovery_is_recovered_from(tmp_path: Path, name: str, point: str) -> None:
    oracle = await uninterrupted(name)
    await killed(tmp_path, name, "acknowledged", 2)
    await killed(tmp_path, name, "before the commit", 1, "recover")  # while it claims the run, or answers it
    await killed(tmp_path, name, point, 3, "recover")
    assert nameless((await recovered(tmp_path, [name]))[name]) == oracle.result
    counts = Counter(lines(tmp_path / "notes"))
    assert set(counts) == oracle.steps
    assert sum(counts.values()) - len(counts) <= 3 * oracle.specimen.at_once
    effects = lines(tmp_path / "effects")
    assert len(set(effects)) == len(effects)


@pytest.mark.parametrize("number", [8, 30])  # transactions; at the first some are not yet started
async def test_p7_many_runs_at_once_survive_one_kill(tmp_path: Path, number: int) -> None:
    await killed(tmp_path, "every", "before the commit", number)
    names = await stored_runs(tmp_path)
    assert set(names) <= {*NAMES, *WAITING}
    await all_end_well(tmp_path, names)


async def all_end_well(folder: Path, names: tuple[str, ...]) -> None:
    """See that recovery brings every run to the end that it would have had."""
    results = await recovered(folder, names)
    for name in names:
        assert nameless(results[name]) == (await uninterrupted(name)).result, name
    effects = lines(folder / "effects")
    assert len(set(effects)) == len(effects)


@pytest.mark.parametrize("budget", [3.0, pytest.param(60.0, marks=pytest.mark.long)], ids=["short", "long"])
async def test_p7_kills_at_random_times(tmp_path: Path, budget: float) -> None:
    """Processes work on all runs, one after the other, and each is killed somewhere; the seed says where."""
    seed = time.time_ns()
    print(f"seed {seed}")  # noqa: T201  # shown where the test fails
    chance, started, kills = random.Random(seed), time.monotonic(), 0  # noqa: S311  # nothing secret
    while time.monotonic() - started < budget:
        folder = tmp_path / f"runs-{kills}"
        folder.mkdir()
        mode: tuple[str, ...] = ()
        for _ in range(chance.randint(1, 4)):
            await killed_after(folder, chance.uniform(0, 0.5), *mode)
            kills += 1
            mode = ("recover",)
        await all_end_well(folder, await stored_runs(folder))
    print(f"{kills} kills")  # noqa: T201  # the figure that is published
    assert kills


async def killed_after(folder: Path, seconds: float, *mode: str) -> None:
    """Let another process work for some time from its first note on; or to its end, if that comes first."""
    before = len(lines(folder / "notes"))
    async with await anyio.open_process(
        victim(folder, "every", "acknowledged", 0, *mode), env=environment(), stderr=None
    ) as process:
        with anyio.fail_after(PATIENCE):
            while process.returncode is None and len(lines(folder / "notes")) == before:  # noqa: ASYNC110  # of another process
                await anyio.sleep(0.005)
            with anyio.move_on_after(seconds):
                await process.wait()
        if process.returncode is None:
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()
    assert process.returncode in {0, -signal.SIGKILL}
