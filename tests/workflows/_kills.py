"""Runs of another process that is killed, and how this process goes on with them."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from anyio import fail_after
from tests._forks import LAYERS, shared
from tests.workflows import _victim
from tests.workflows._specimens import Specimen, specimens
from tests.workflows._victim import Lines
from tests.workflows._waiting_specimens import Outside, nameless, waiting_specimens
from tests.workflows._words import running

from stagepost.checkpoint import MemoryStore, Snapshot, SqliteStore
from stagepost.hub import MultiObserver
from stagepost.workflows import RecoveryReport

PATIENCE = 30

MIDDLES = {  # batches
    "chain": 3,
    "parallel": 4,
    "conditional": 4,
    "graph": 5,
    "nested": 20,
    "cycle": 25,
    "branches": 6,
    "folds": 4,
    "others": 6,
    "waits": 6,
    "asked": 10,
    "rounds": 10,
    "effects": 3,  # between an effect and its outcome
    "both": 8,
    "grows": 10,
    "family": 12,
}


@dataclass(frozen=True)
class Oracle:
    """A specimen and what it does when nobody kills it.

    Attributes:
        specimen: It.
        result: What it ends with, without who said what.
        steps: What its steps note.
        effects: What its effects note.
    """

    specimen: Specimen
    result: object
    steps: frozenset[str]
    effects: frozenset[str]


@dataclass(frozen=True)
class Recovered:
    """A run behind its recovery.

    Attributes:
        result: What it ended with.
        stored: What is on disk of it then.
        notes: What its steps have noted, those of the process that was killed first.
        effects: What its effects have noted, likewise.
    """

    result: Mapping[str, object]
    stored: Snapshot
    notes: list[str]
    effects: list[str]


def victim(folder: Path, name: str, point: str, number: int, *mode: str) -> list[str]:
    """The command of a process that works on runs and kills itself."""
    return [sys.executable, "-m", _victim.__name__, str(folder), name, point, str(number), *mode]


def environment() -> dict[str, str]:
    """In which it finds what it needs."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(Path.cwd()), *sys.path]))}


async def forked(file: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a module of these tests in a process of its own, which finds its imports done."""
    forks = shared(*LAYERS, "pytest", "tests.workflows._waiting_specimens")
    return await anyio.to_thread.run_sync(partial(forks.run, file, *map(str, arguments), cwd=Path.cwd()))


async def killed(folder: Path, name: str, point: str, number: int, *mode: str) -> None:
    """Let another process work until it kills itself."""
    with fail_after(PATIENCE):
        done = await forked(_victim.__file__, folder, name, point, number, *mode)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, ""), (done.returncode, done.stderr)


async def left_behind(folder: Path, name: str) -> Snapshot:
    """What is on disk of a run."""
    async with SqliteStore(folder / "runs.db") as store:
        return await store.load(name)


async def stored_runs(folder: Path) -> tuple[str, ...]:
    """Names of the runs on disk that no step has started."""
    async with SqliteStore(folder / "runs.db") as store:
        return tuple(run.run_id for run in (await store.find()).items if "." not in run.run_id)


async def recovered(folder: Path, names: Collection[str]) -> dict[str, Mapping[str, object]]:
    """The results of all runs, in this process, which answers whatever they wait for."""
    made = all_specimens(Lines(folder / "notes"), Lines(folder / "effects"))
    outside = Outside("heir")
    observer = MultiObserver(Lines(folder / "ended"), outside)
    workflows = [made[name].workflow for name in names]
    async with (
        running(SqliteStore(folder / "runs.db"), *workflows, observer=observer) as runner,
        anyio.create_task_group() as group,
    ):
        report = await runner.recover()
        assert report == RecoveryReport(report.resumed, {})
        group.start_soon(outside.serve, runner, names)
        results = {name: await (await runner.get(name)).result() for name in names}
        group.cancel_scope.cancel()
    return results


async def recovered_copy(folder: Path, name: str, copy: Path) -> Recovered:
    """What recovery makes of a run, on a copy of what was left behind."""
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*-shm"))
    results = await recovered(copy, [name])
    return Recovered(results[name], await left_behind(copy, name), lines(copy / "notes"), lines(copy / "effects"))


@dataclass(frozen=True)
class Forks:
    """Forks of a run that was left open, and it itself before and after that.

    Attributes:
        results: What they ended with, by the number of the history that they were forked at.
        before: The run as it was left.
        after: The run when they had ended.
    """

    results: Mapping[int | None, Mapping[str, object]]
    before: Snapshot
    after: Snapshot


async def forks_of(folder: Path, name: str, copy: Path, most: int) -> Forks:
    """Forks of a run where it stands and, if it keeps all, at its first number, its last one, and some in between."""
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*-shm"))
    made = all_specimens(Lines(copy / "notes"), Lines(copy / "effects"))
    outside, store = Outside("forker"), SqliteStore(copy / "runs.db", durability="process")
    async with running(store, made[name].workflow, observer=outside) as runner, anyio.create_task_group() as group:
        before = await store.load(name)
        last = len((await store.history(name, limit=10_000)).items)
        numbers = [None, *range(1, last + 1)] if last <= most else [None, *range(1, last, last // most), last]
        runs = {at: await runner.fork(name, at=at, run_id=f"{name}-{at}", effects="again") for at in numbers}
        group.start_soon(outside.serve, runner, {run.id for run in runs.values()})
        results = {at: await run.result() for at, run in runs.items()}
        assert not await store.check()
        after = await store.load(name)
        group.cancel_scope.cancel()
    return Forks(results, before, after)


async def uninterrupted(name: str) -> Oracle:
    """A run that nobody kills."""
    notes, effects, outside = list[str](), list[str](), Outside("victim")
    made = {**specimens(notes.append), **waiting_specimens(notes.append, effects.append)}[name]
    async with (
        running(MemoryStore(), made.workflow, observer=outside) as runner,
        anyio.create_task_group() as group,
    ):
        run = await runner.start(made.workflow, made.state, run_id=name)
        group.start_soon(outside.serve, runner, {name})
        result = nameless(await run.result())
        group.cancel_scope.cancel()
    assert (len(set(notes)), len(set(effects))) == (len(notes), len(effects))
    return Oracle(made, result, frozenset(notes), frozenset(effects))


def all_specimens(notes: Lines, effects: Lines) -> dict[str, Specimen]:
    """Those that wait and those that do not."""
    return {**specimens(notes.add), **waiting_specimens(notes.add, effects.add)}


def lines(file: Path) -> list[str]:
    """What somebody has noted."""
    return file.read_text().splitlines() if file.exists() else []
