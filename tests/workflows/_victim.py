"""A process that works on runs until it kills itself with SIGKILL, at a point that its arguments name.

    python -m tests.workflows._victim FOLDER NAME POINT N [recover | fork]

With ``fork`` it forks the run NAME at version 3 as ``fork``. Its runs keep all if POINT is after a commit.
NAME is a specimen, ``all`` of those that do not wait, or ``every``. The counter is of the store's batches, or for
``acknowledged`` of its commits; with N 0 it does not kill itself. Every step appends its path to FOLDER/notes, every
acknowledged end of a step or item its path to FOLDER/ended, every effect its path to FOLDER/effects, every answer that
was acknowledged the wait's id to FOLDER/answers.
"""

import os
import signal
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import anyio
from tests.workflows._specimens import specimens
from tests.workflows._waiting_specimens import Outside, label, waiting_specimens

from stagepost.checkpoint import Commit, SqliteStore
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch
from stagepost.hub import Event, MultiObserver
from stagepost.workflows import ItemEnded, Runner, StepEnded

KEEPING: Mapping[str, Literal["all"]] = {"after the commit": "all", "acknowledged": "all"}
POINTS = ("before the save", "before the commit", "after the commit", "acknowledged")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Doomed:
    """A connection that kills its process at the n-th transaction."""

    def __init__(self, connection: sqlite3.Connection, point: str) -> None:
        self._connection = connection
        self._point = point

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)  # what commits need that happen to meet in a batch is not known here

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        if statement == "COMMIT" and self._point == "before the commit":
            die()
        cursor = self._connection.execute(statement, values)
        if statement == "COMMIT":
            die()
        return cursor


class Killer:
    """Counts batches and commits, from the first that concerns a run."""

    def __init__(self, point: str, number: int) -> None:
        self._point = point
        self._left = number
        self._before = 2  # batches: the runner becomes an owner, and listens

    async def runner_is_entered(self) -> None:
        while self._before:  # noqa: ASYNC110  # counted in the thread that writes
            await anyio.sleep(0.001)

    def run_batch(self, connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        if self._before:
            self._before -= 1
            return run_batch(connection, batch)
        if self._point == "acknowledged" or not self.strikes():
            return run_batch(connection, batch)
        if self._point == "before the save":
            die()
        return run_batch(Doomed(connection, self._point), batch)  # type: ignore[arg-type]  # all that is used of one

    def acknowledged(self) -> None:
        if self._point == "acknowledged" and self.strikes():
            die()

    def strikes(self) -> bool:
        self._left -= 1
        return self._left == 0


class Store(SqliteStore):
    """Kills its process when the n-th commit has been acknowledged, if that is the point."""

    def __init__(self, path: Path, killer: Killer) -> None:
        super().__init__(path, durability="process", lock_timeout=5, run_batch=killer.run_batch)
        self._killer = killer

    async def commit(self, commit: Commit) -> None:
        await super().commit(commit)
        self._killer.acknowledged()


class Lines:
    """A file that lines are appended to, each in one write."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY)

    def add(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())

    def on_event(self, event: Event, /) -> None:
        if isinstance(event, StepEnded):
            self.add(label(event.run_id, event.path))
        elif isinstance(event, ItemEnded):
            self.add(label(event.run_id, f"{event.path}[{event.index}]"))


async def main(*arguments: str) -> None:
    """Start (or recover) runs, answer them, and wait for their ends."""
    folder, name, point, number, *mode = arguments
    place = Path(folder)
    note = Lines(place / "notes").add
    plain, waiting = specimens(note), waiting_specimens(note, Lines(place / "effects").add)
    made = {**plain, **waiting}
    chosen = {"all": plain, "every": made}.get(name) or {name: made[name]}
    outside = Outside("victim", Lines(place / "answers").add)
    killer = Killer(point, int(number))
    store = Store(place / "runs.db", killer)
    workflows = [it.workflow for it in made.values()]
    observer = MultiObserver(Lines(place / "ended"), outside)
    async with (
        store,
        Runner(store, workflows=workflows, observer=observer, keep=KEEPING.get(point, "result")) as runner,
        anyio.create_task_group() as group,
    ):
        await killer.runner_is_entered()
        if mode == ["fork"]:
            runs = [await runner.fork(name, at=3, run_id="fork")]
        elif mode:
            await runner.recover()
            runs = [await runner.get(info.run_id) for info in (await store.find()).items]
        else:
            runs = [await runner.start(it.workflow, it.state, run_id=run_id) for run_id, it in chosen.items()]
        group.start_soon(outside.serve, runner, set(chosen))
        for run in runs:
            await run.result()
        group.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
