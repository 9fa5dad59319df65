"""``runs watch``, and how what becomes of a run is shown."""

from functools import partial

from rich.text import Text

from stagepost.checkpoint import RunStatus

from .._wire._watched import WatchEvent
from ._exits import Exit
from ._screen import Screen
from ._styles import BAD, DIM, GOOD, STATUSES, WAITS, WORKS, plain
from ._texts import one_line
from ._times import local
from ._where import Where


async def watched(where: Where, run_id: str, screen: Screen, *, until_settled: bool) -> Exit:
    """Show what becomes of a run until it has ended, or waits if that is enough."""
    async with where.opened(screen.hint) as target:
        status = await target.watch(run_id, partial(tell, screen), until_settled=until_settled)
    return code_of_status(status)


def code_of_status(status: RunStatus) -> Exit:
    """The exit code of a run that was followed."""
    if status is RunStatus.COMPLETED:
        return Exit.OK
    return Exit.WAITING if status.is_open else Exit.FOUND


def tell(screen: Screen, event: WatchEvent) -> None:
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
