"""After SIGKILL at any instant, `recover` brings every open run to the result of an uninterrupted one.

What was committed is never executed again; at most the steps in flight are.
"""

import os
import signal
import sys
from collections import Counter
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from tests.workflows import _victim
from tests.workflows._specimens import NAMES, Specimen, specimens
from tests.workflows._victim import POINTS, Lines
from tests.workflows._words import running

from stagepost.checkpoint import ItemStatus, Snapshot, SqliteStore
from stagepost.workflows import RecoveryReport, State

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

PATIENCE = 30


async def killed(folder: Path, name: str, point: str, number: int, *mode: str) -> None:
    """Let another process work until it kills itself."""
    arguments = [sys.executable, "-m", _victim.__name__, str(folder), name, point, str(number), *mode]
    path = os.pathsep.join(filter(None, [str(Path.cwd()), *sys.path]))
    with fail_after(PATIENCE):
        process = await anyio.run_process(arguments, check=False, env={**os.environ, "PYTHONPATH": path})
    assert (process.returncode, process.stderr) == (-signal.SIGKILL, b"")


async def left_behind(folder: Path, name: str) -> Snapshot:
    """What is on disk of a run."""
    async with SqliteStore(folder / "runs.db") as store:
        return await store.load(name)


async def recovered(folder: Path, names: tuple[str, ...]) -> dict[str, object]:
    """The results of all runs, in this process."""
    made = specimens(Lines(folder / "notes").add)
    workflows = [made[name].workflow for name in names]
    async with running(SqliteStore(folder / "runs.db"), *workflows, observer=Lines(folder / "ended")) as runner:
        report = await runner.recover()
        assert report == RecoveryReport(report.resumed, {})
        return {name: await (await runner.get(name)).result() for name in names}


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def unvisited(label: str) -> str:
    return label.partition("#")[0]


async def uninterrupted(name: str) -> tuple[Specimen, State, set[str]]:
    """A specimen, its result, and what its steps note."""
    notes: list[str] = []
    specimen = specimens(notes.append)[name]
    state = await specimen.workflow.run(specimen.state)
    assert len(set(notes)) == len(notes)
    return specimen, state, set(notes)


def committed_items(snapshot: Snapshot) -> set[str]:
    """Notes of the items whose outcome is on disk."""
    done = [item for item in snapshot.items if item.status is not ItemStatus.WAITING]
    return {f"{item.path}[{item.idx}]" for item in done}


MIDDLES = {  # batches
    "chain": 3,
    "parallel": 4,
    "conditional": 4,
    "graph": 5,
    "nested": 20,
    "cycle": 25,
    "branches": 6,
    "folds": 4,
}


@pytest.mark.parametrize("point", POINTS, ids=lambda point: str(point).replace(" ", "-"))
@pytest.mark.parametrize("name", NAMES)
async def test_p7_a_killed_run_goes_on_to_the_same_result(tmp_path: Path, name: str, point: str) -> None:
    specimen, expected, steps = await uninterrupted(name)
    await killed(tmp_path, name, point, MIDDLES[name])
    snapshot = await left_behind(tmp_path, name)
    before = set(lines(tmp_path / "notes"))
    ended = Counter(lines(tmp_path / "ended"))
    assert before <= steps
    assert (await recovered(tmp_path, (name,)))[name] == expected

    counts = Counter(lines(tmp_path / "notes"))
    assert set(counts) == steps
    again = {label for label, count in counts.items() if count > 1}
    assert sum(counts.values()) - len(counts) <= specimen.at_once
    assert again <= before
    assert not committed_items(snapshot) & set(map(unvisited, again))
    if name not in {"cycle", "nested", "graph"}:  # there paths come again in other visits
        assert not ended.keys() & again
    if specimen.at_once == 1:
        assert len(again) == (0 if point in {"after the commit", "acknowledged"} else 1)


@pytest.mark.parametrize("point", POINTS, ids=lambda point: str(point).replace(" ", "-"))
async def test_p7_a_kill_at_the_very_start_loses_the_run_or_keeps_it_whole(tmp_path: Path, point: str) -> None:
    await killed(tmp_path, "chain", point, 1)
    async with SqliteStore(tmp_path / "runs.db") as store:
        stored = [run.run_id for run in await store.find()]
    if point in {"before the save", "before the commit"}:
        assert stored == []
        return
    _, expected, steps = await uninterrupted("chain")
    assert (await recovered(tmp_path, ("chain",)))["chain"] == expected
    assert Counter(lines(tmp_path / "notes")) == dict.fromkeys(steps, 1)


@pytest.mark.parametrize(
    ("name", "point"),
    [("chain", "before the commit"), ("parallel", "after the commit"), ("nested", "before the save")],
    ids=["chain", "parallel", "nested"],
)
async def test_p7_a_kill_during_recovery_is_recovered_from(tmp_path: Path, name: str, point: str) -> None:
    specimen, expected, steps = await uninterrupted(name)
    await killed(tmp_path, name, "acknowledged", 2)
    await killed(tmp_path, name, point, 1, "recover")  # while it claims the run
    await killed(tmp_path, name, point, 3, "recover")
    assert (await recovered(tmp_path, (name,)))[name] == expected
    counts = Counter(lines(tmp_path / "notes"))
    assert set(counts) == steps
    assert sum(counts.values()) - len(counts) <= 3 * specimen.at_once


@pytest.mark.parametrize("number", [8, 30])  # transactions; at the first some are not yet started
async def test_p7_many_runs_at_once_survive_one_kill(tmp_path: Path, number: int) -> None:
    await killed(tmp_path, "all", "before the commit", number)
    async with SqliteStore(tmp_path / "runs.db") as store:
        names = tuple(run.run_id for run in await store.find())
    assert set(names) <= set(NAMES)
    results = await recovered(tmp_path, names)
    for name in names:
        _, expected, _ = await uninterrupted(name)
        assert results[name] == expected
