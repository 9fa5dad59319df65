"""Following a run by reading it now and then: ``runs watch``, and the progress of runs that a command goes on with."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import anyio
from rich.text import Text

from stagepost.checkpoint import RunStatus, SqliteInbox, SqliteStore

from .._verbs._changes import Look, changes
from .._verbs._watching import look
from .._wire._watched import WatchEvent
from ._access import beside, owner_of
from ._exits import Exit
from ._screen import Screen
from ._styles import BAD, DIM, GOOD, STATUSES, WAITS, WORKS, plain
from ._texts import one_line
from ._times import local

_PAUSE: Final = 0.2  # seconds between two looks


async def watched(file: Path | None, run_id: str, screen: Screen, *, until_settled: bool) -> Exit:
    """Show what becomes of a run until it has ended, or waits if that is enough."""

    def is_over(status: RunStatus) -> bool:
        return not status.is_open or (until_settled and status is RunStatus.WAITING)

    async with beside(file) as store:
        info = await store.info(run_id)
        if info.status is RunStatus.RUNNING and owner_of(file) is None:
            screen.hint("nobody owns the file: nothing becomes of the run before a process does")
        status = await follow(store, run_id, screen, is_over, anyio.Event())
    return code_of_status(status)


async def follow(
    store: SqliteInbox | SqliteStore,
    run_id: str,
    screen: Screen,
    is_over: Callable[[RunStatus], bool],
    over: anyio.Event,
) -> RunStatus:
    """Show what becomes of a run.

    Args:
        store: Where it is read.
        run_id: The run.
        screen: Where it is shown.
        is_over: Whether it is not followed any more, by its status.
        over: Ends it as well, after one more look.

    Returns:
        Its status in the end.
    """
    before: Look | None = None
    while True:
        is_last = over.is_set()
        seen = await look(store, run_id)
        for event in changes(before, seen):
            tell(event, screen)
        status = seen.snapshot.run.status
        if is_last or is_over(status):
            return status
        before = seen
        with anyio.move_on_after(_PAUSE):
            await over.wait()


def code_of_status(status: RunStatus) -> Exit:
    """The exit code of a run that was followed."""
    if status is RunStatus.COMPLETED:
        return Exit.OK
    return Exit.WAITING if status.is_open else Exit.FOUND


def tell(event: WatchEvent, screen: Screen) -> None:
    """Show one thing that has changed."""
    if screen.as_json:
        screen.json(event, indent=None)
        return
    when = Text(f"{local(event.at, screen.now)}  ", DIM)
    screen.line(when.append_text(_text(event)))


def _text(event: WatchEvent) -> Text:
    match event.event:
        case "at":
            return Text.assemble(("→ ", WORKS), plain(event.place))
        case "item":
            return Text.assemble(("· ", WORKS), plain(event.place), f"  {event.done} of {event.total}")
        case "child":
            return Text.assemble(
                ("↳ ", DIM), plain(event.run_id), "  ", (event.status or "", STATUSES[event.status or ""])
            )
        case "wait":
            return Text.assemble(("? ", WAITS), plain(event.place), f" waits for {_waited(event)}")
        case "wait_over":
            return Text.assemble(
                ("✓ ", GOOD),
                plain(event.place),
                f" {event.status}",
                (f" by {one_line(event.by)}" if event.by else "", DIM),
            )
    text = Text(event.status or "", STATUSES[event.status or ""])
    return text.append_text(plain(f": {event.error}", BAD)) if event.error else text


def _waited(event: WatchEvent) -> str:
    """What a wait is for, and what brings it."""
    match event.kind:
        case "answer":
            return f"an answer: stagepost runs answer {event.wait_id} VALUE"
        case "signal":
            return f"a signal: stagepost runs signal {event.run_id} {event.name}"
        case "effect":
            return f"word of an effect: stagepost runs settle {event.run_id} {event.name}"
    return "the time"
