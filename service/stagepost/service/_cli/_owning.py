"""What only the owner of a file does: resume, fork and delete runs."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal

import anyio
from rich.text import Text

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import RunStatus, SqliteStore
from stagepost.workflows import Run, Runner

from .._wire._done import Done
from ._access import owning
from ._definitions import load
from ._errors import UsageError
from ._exits import Exit
from ._following import code_of_status, follow
from ._given import Given
from ._listing import read_labels
from ._screen import Screen
from ._styles import GOOD, plain

_NUMBER: Final = re.compile("[0-9]{1,18}")  # what is longer is no number of a history


async def resumed(file: Path | None, app: str | None, run_id: str, screen: Screen) -> Exit:
    """Go on with a run until it has ended or waits."""
    definitions = load(app, "resume a run")
    async with definitions.runner(file, "resume a run") as runner:
        return await go_on(runner, await runner.resume(run_id), screen)


@dataclass(frozen=True, slots=True)
class Fork:
    """What a new run begins with.

    Attributes:
        at: A number of the other run's history, or the path of a step that has completed.
        changes: Values in the place of those of its state.
        effects: ``again`` or ``keep``: what becomes of effects that the other run has had after that point.
        failed_items: Whether only the items of a fan-out that have failed are done again; `at` is then its path.
        run_id: The new run's id.
        labels: Its labels, beside those of the other run.
    """

    at: str | None = None
    changes: Given = Given(None)
    effects: str | None = None
    failed_items: bool = False
    run_id: str | None = None
    labels: Sequence[str] = ()

    async def make(self, runner: Runner, origin: str) -> Run:
        """Make the new run.

        Raises:
            UsageError: What was given does not fit together.
        """
        labels = read_labels(self.labels)
        if self.failed_items:
            return await runner.retry_items(origin, path=self.at, run_id=self.run_id, labels=labels)
        at = int(self.at) if self.at is not None and _NUMBER.fullmatch(self.at) else self.at
        changes, effects = self._changes(), self._effects()
        return await runner.fork(origin, at=at, changes=changes, effects=effects, run_id=self.run_id, labels=labels)

    def check(self) -> None:
        """See that what was given fits together.

        Raises:
            UsageError: It does not.
        """
        if self.failed_items and (self.changes.text is not None or self.effects is not None):
            raise UsageError("--failed-items goes with --at PATH only: the items that failed run again as they were")
        self._changes()
        self._effects()

    def _changes(self) -> Mapping[str, object] | None:
        found = self.changes.read()
        if not isinstance(found, Mapping | None):
            raise UsageError("--changes takes a JSON object: the keys of the state with their values")
        return found

    def _effects(self) -> Literal["again", "keep"] | None:
        match self.effects:
            case None | "again" | "keep":
                return self.effects
        raise UsageError(f"--effects {self.effects}: give again or keep")


async def forked(file: Path | None, app: str | None, origin: str, fork: Fork, screen: Screen) -> Exit:
    """Make a new run of another one, and go on with it until it has ended or waits."""
    fork.check()
    definitions = load(app, "fork a run")
    async with definitions.runner(file, "fork a run") as runner:
        run = await fork.make(runner, origin)
        screen.hint(f"the new run is {run.id}")
        return await go_on(runner, run, screen)


async def deleted(file: Path | None, run_id: str, screen: Screen) -> Exit:
    """Delete a run that has ended."""
    async with owning(file, "delete a run") as store:
        await store.delete(run_id)
    done = Done(action="deleted", id=run_id, owner=None)
    screen.show(done, partial(_deleted_lines, run_id))
    return Exit.OK


async def go_on(runner: Runner, run: Run, screen: Screen) -> Exit:
    """Show what becomes of a run of a runner of this process, until it has ended or waits."""
    store = runner.store
    if not isinstance(store, SqliteStore):
        return code_of_status(await run.settled())
    over = anyio.Event()
    status = run.status
    async with anyio.create_task_group() as group:
        group.start_soon(follow, store, run.id, screen, _never, over)
        try:
            status = await run.settled()
        finally:
            over.set()
    return code_of_status(status)


def _never(_: RunStatus) -> bool:
    return False


def _deleted_lines(run_id: str, _: Screen) -> list[Text]:
    return [Text.assemble(("deleted", GOOD), " ", plain(run_id))]
