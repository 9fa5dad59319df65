"""``schedules``: which there are, and pausing, resuming and deleting them."""

import shlex
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from pathlib import Path

from rich.text import Text

from stagepost.workflows import pause_schedule, read_schedules

from .._wire._done import Done
from .._wire._made import schedule_list
from .._wire._schedules import ScheduleList, ScheduleRow
from ._access import owning, reading
from ._errors import misuse
from ._exits import Exit
from ._layout import Column, cut, lines
from ._listing import damaged_lines
from ._screen import Screen
from ._styles import BAD, DIM, GOOD, WAITS, plain
from ._times import age, full, took


async def listed(file: Path | None, after: str | None, limit: int, screen: Screen) -> Exit:
    """Show the schedules of a store."""
    async with reading(file) as reader:
        with misuse():
            page = await read_schedules(reader, after=after, limit=limit)
    found = schedule_list(page)
    screen.show(found, partial(_lines, found))
    if found.next is not None:
        screen.hint(f"more: --after {shlex.quote(found.next)}")
    return Exit.FOUND if found.damaged else Exit.OK


async def paused(file: Path | None, key: str, screen: Screen) -> Exit:
    """Start no runs of a schedule until it is resumed."""
    async with owning(file, "pause a schedule") as store:
        await pause_schedule(store, key)
    return _done(screen, "paused", key)


async def resumed(file: Path | None, key: str, screen: Screen) -> Exit:
    """Start runs of a schedule again, from its next time on."""
    async with owning(file, "resume a schedule") as store:
        schedule = await pause_schedule(store, key, paused=False)
    return _done(screen, "resumed", key, schedule.next_due)


async def deleted(file: Path | None, key: str, screen: Screen) -> Exit:
    """Forget a schedule."""
    async with owning(file, "delete a schedule") as store:
        await store.delete_schedule(key)
    return _done(screen, "deleted", key)


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


def _done(screen: Screen, action: str, key: str, next_due: datetime | None = None) -> Exit:
    def render(_: Screen) -> Iterable[Text]:
        text = Text.assemble((action, GOOD), " ", plain(key))
        yield text if next_due is None else text.append(f": next run {full(next_due, screen.now)}", DIM)

    screen.show(Done(action=action, id=key, owner=None), render)
    return Exit.OK
