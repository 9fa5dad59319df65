"""``schedules``: which there are, and pausing, resuming and deleting them."""

import shlex
from collections.abc import Iterable
from datetime import datetime
from functools import partial

from rich.text import Text

from .._wire._done import Done
from .._wire._schedules import ScheduleList, ScheduleRow
from ._exits import Exit
from ._layout import Column, cut, lines
from ._listing import damaged_lines
from ._screen import Screen
from ._styles import BAD, DIM, GOOD, WAITS, plain
from ._times import age, full, took
from ._where import Where


async def listed(where: Where, after: str | None, limit: int, screen: Screen) -> Exit:
    """Show the schedules of a store."""
    async with where.opened(screen.hint) as target:
        found = await target.schedules(after=after, limit=limit)
    screen.show(found, partial(_lines, found))
    if found.next is not None:
        screen.hint(f"more: --after {shlex.quote(found.next)}")
    return Exit.FOUND if found.damaged else Exit.OK


async def paused(where: Where, key: str, screen: Screen) -> Exit:
    """Start no runs of a schedule until it is resumed."""
    async with where.opened(screen.hint) as target:
        return _told(screen, await target.pause_schedule(key))


async def resumed(where: Where, key: str, screen: Screen) -> Exit:
    """Start runs of a schedule again, from its next time on."""
    async with where.opened(screen.hint) as target:
        return _told(screen, await target.resume_schedule(key))


async def deleted(where: Where, key: str, screen: Screen) -> Exit:
    """Forget a schedule."""
    async with where.opened(screen.hint) as target:
        return _told(screen, await target.delete_schedule(key))


def _lines(found: ScheduleList, screen: Screen) -> Iterable[Text]:
    now = screen.now
    rows = found.schedules
    columns = [
        Column("SCHEDULE", [plain(row.key) for row in rows], least=8),
        Column("WORKFLOW", [plain(row.workflow) for row in rows], least=8),
        Column("WHEN", [plain(_when(row)) for row in rows], least=8),
        Column("NEXT", [_next(row, now) for row in rows]),
        Column("LAST RUN", [plain(row.last_run, DIM) for row in rows], least=8),
        Column("NOT STARTED", [Text(str(row.not_started or ""), DIM) for row in rows]),
    ]
    table = lines(columns, screen.width)
    if not table:
        yield Text("no schedules", DIM)
    for line, row in zip(table, [None, *rows], strict=False):
        yield line
        if row is not None and row.error is not None:
            yield cut(Text("  ").append_text(plain(f"failed {row.failures} times: {row.error}", BAD)), screen.width)
    yield from damaged_lines((each.key, each.reason) for each in found.damaged)


def _when(row: ScheduleRow) -> str:
    return f"{row.when} {row.timezone}" if row.every is None else f"every {took(row.every)}"


def _next(row: ScheduleRow, now: datetime) -> Text:
    if row.paused:
        return Text("paused", WAITS)
    return Text("never" if row.next_due is None else age(row.next_due, now), DIM)


def _told(screen: Screen, done: Done) -> Exit:
    def render(_: Screen) -> Iterable[Text]:
        text = Text.assemble((done.action, GOOD), " ", plain(done.id))
        next_due = done.next_due
        yield text if next_due is None else text.append(f": next run {full(next_due, screen.now)}", DIM)

    screen.show(done, render)
    return Exit.OK
