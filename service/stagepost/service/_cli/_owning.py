"""What only the owner of a file does: resume, fork and delete runs."""

from functools import partial
from pathlib import Path

import anyio
from rich.text import Text

from stagepost.checkpoint import RunStatus, SqliteStore
from stagepost.workflows import Run, Runner

from ._access import owning
from ._definitions import load
from ._exits import Exit
from ._following import code_of_status, follow
from ._models import Done
from ._screen import Screen
from ._styles import GOOD, plain


async def resumed(file: Path | None, app: str | None, run_id: str, screen: Screen) -> Exit:
    """Go on with a run until it has ended or waits."""
    definitions = load(app, "resume a run")
    async with definitions.runner(file, "resume a run") as runner:
        return await go_on(runner, await runner.resume(run_id), screen)


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
