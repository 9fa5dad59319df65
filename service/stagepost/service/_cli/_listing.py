"""``runs ls`` and ``runs waits``: which runs there are, and what they wait for."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from rich.text import Text

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import CountBy, RunFilters, RunStatus, WaitKind

from .._wire._asked import read_labels as labels_of
from .._wire._runs import RunCounts, RunPage, RunRow
from .._wire._waits import WaitList, WaitRow
from ._errors import UsageError
from ._exits import Exit
from ._layout import Column, cut, lines
from ._screen import Screen
from ._styles import BAD, DIM, plain, status_text
from ._texts import shortened
from ._times import age, local, took
from ._values import compact
from ._where import Where

_WIDE = 100  # columns from which on there is room for labels and durations
_OPEN = "open"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs are asked for; see `stagepost.checkpoint.RunFilters`.

    Attributes:
        statuses: Names of statuses; ``open`` for all that have not ended.
        workflow: Only those of this workflow.
        labels: Only those with these labels.
        text: Only those in whose error these words occur.
        since: Only those that were started then or later.
        until: Only those that were started before.
        ended_since: Only those that have ended then or later.
        ended_until: Only those that have ended before.
    """

    statuses: Sequence[str] = ()
    workflow: str | None = None
    labels: Sequence[str] = ()
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    ended_since: datetime | None = None
    ended_until: datetime | None = None

    def filters(self) -> RunFilters:
        """It for the store.

        Raises:
            UsageError: There is no such status, or a label is none.
        """
        return RunFilters(
            status=read_statuses(self.statuses),
            workflow=self.workflow,
            labels=read_labels(self.labels),
            text=self.text,
            since=self.since,
            until=self.until,
            ended_since=self.ended_since,
            ended_until=self.ended_until,
        )


@dataclass(frozen=True, slots=True)
class Place:
    """Which page of them.

    Attributes:
        limit: At most so many.
        after: Where the page begins.
        before: Where it ends.
        oldest_first: Begin with the first one.
    """

    limit: int = 20
    after: str | None = None
    before: str | None = None
    oldest_first: bool = False


async def listed(where: Where, wanted: Wanted, place: Place, screen: Screen) -> Exit:
    """Show a page of runs."""
    if place.after is not None and place.before is not None:
        raise UsageError("give --after or --before, and not both")
    filters = wanted.filters()
    async with where.opened(screen.hint) as target:
        found = await target.list(
            filters,
            newest_first=not place.oldest_first,
            after=place.after,
            before=place.before,
            limit=place.limit,
        )
    screen.show(found, partial(_run_lines, found))
    if found.next is not None:
        screen.hint(f"more: --after {shlex.quote(found.next)}")
    return Exit.FOUND if found.damaged else Exit.OK


async def counted(where: Where, wanted: Wanted, by: str, screen: Screen) -> Exit:
    """Say how many runs there are."""
    way: CountBy
    match by:
        case "status" | "workflow":
            way = by
        case _:
            raise UsageError(f"--counts {by}: give status or workflow")
    filters = wanted.filters()
    async with where.opened(screen.hint) as target:
        found = await target.count(filters, by=way)
    screen.show(found, partial(_count_lines, found))
    return Exit.OK


def _count_lines(found: RunCounts, screen: Screen) -> Iterable[Text]:
    shown = {name: count for name, count in found.counts.items() if count} | {"in all": found.total}
    width = max(len(f"{count:,}") for count in shown.values())
    names = [plain(name, DIM) if name == "in all" else status_text(name) for name in shown]
    columns = [Column("", [Text(f"{count:>{width},}") for count in shown.values()]), Column("", names)]
    return lines(columns, screen.width)[1:]


async def waited(
    where: Where, run_id: str | None, screen: Screen, *, kind: str | None, after: str | None, limit: int
) -> Exit:
    """Show a page of what runs wait for."""
    if kind is not None and kind not in list(WaitKind):
        raise UsageError(f"there is no kind {kind!r}: give {', '.join(WaitKind)}")
    async with where.opened(screen.hint) as target:
        found = await target.waits(run_id, kind=None if kind is None else WaitKind(kind), after=after, limit=limit)
    screen.show(found, partial(_wait_page_lines, found))
    if found.next is not None:
        screen.hint(f"more: --after {shlex.quote(found.next)}")
    return Exit.FOUND if found.damaged else Exit.OK


def _wait_page_lines(found: WaitList, screen: Screen) -> Iterable[Text]:
    yield from wait_lines(found.waits, screen)
    yield from damaged_lines((each.run_id, each.reason) for each in found.damaged)


def damaged_lines(damaged: Iterable[tuple[str, str]]) -> Iterable[Text]:
    """What cannot be read: its name and why, one a line."""
    for name, reason in damaged:
        yield Text.assemble(plain(name), "  ", plain(f"cannot be read: {reason}", BAD))


def read_statuses(names: Sequence[str]) -> Sequence[RunStatus] | None:
    """Statuses by their names.

    Raises:
        UsageError: There is no such status.
    """
    found: list[RunStatus] = []
    for name in names:
        if name == _OPEN:
            found += [status for status in RunStatus if status.is_open]
        elif name in list(RunStatus):
            found.append(RunStatus(name))
        else:
            raise UsageError(f"there is no status {name!r}: give {', '.join(RunStatus)}, or {_OPEN}")
    return found or None


def read_labels(given: Sequence[str]) -> Mapping[str, str]:
    """Labels as they are given on the command line.

    Raises:
        UsageError: One is not of the form name=value.
    """
    for label in given:
        if not label.partition("=")[0] or "=" not in label:
            raise UsageError(f"--label {label!r} is not of the form NAME=VALUE")
    return labels_of(given)


def _run_lines(found: RunPage, screen: Screen) -> Iterable[Text]:
    now = screen.now
    table = lines(_run_columns(found.runs, now, is_wide=(screen.width or _WIDE) >= _WIDE), screen.width)
    if not table:
        yield Text("no runs", DIM)
    for line, row in zip(table, [None, *found.runs], strict=False):
        yield line
        if row is not None and (why := row.error or row.blocked):
            yield _note(shortened(why, 300), BAD if row.status in ("failed", "dead") else DIM, screen)
    yield from damaged_lines((each.run_id, each.reason) for each in found.damaged)


def _run_columns(runs: Sequence[RunRow], now: datetime, *, is_wide: bool) -> Sequence[Column]:
    columns = [
        Column("RUN", [plain(row.run_id) for row in runs]),
        Column("WORKFLOW", [plain(row.workflow) for row in runs], least=8),
        Column(
            "STATUS", [status_text(row.status, cancelling=row.cancelling, blocked=bool(row.blocked)) for row in runs]
        ),
        Column("STARTED", [Text(local(row.created_at, now), DIM) for row in runs]),
        Column("AGE", [Text(age(row.created_at, now).removesuffix(" ago"), DIM) for row in runs]),
    ]
    if is_wide:
        columns += [
            Column("TOOK", [Text(_took(row), DIM) for row in runs]),
            Column(
                "LABELS",
                [plain(" ".join(f"{name}={value}" for name, value in row.labels.items()), DIM) for row in runs],
                6,
            ),
        ]
    return columns


def _took(row: RunRow) -> str:
    return "" if row.finished_at is None else took((row.finished_at - row.created_at).total_seconds())


def wait_lines(waits: Sequence[WaitRow], screen: Screen) -> Iterable[Text]:
    """Waits as a table, each with what is shown to whoever answers."""
    now = screen.now
    columns = [
        Column("WAIT", [plain(wait.wait_id) for wait in waits]),
        Column("FOR", [plain(_what_for(wait)) for wait in waits], least=8),
        Column("SINCE", [Text(age(wait.opened_at, now), DIM) for wait in waits]),
        Column("DUE", [Text("" if wait.due_at is None else age(wait.due_at, now), DIM) for wait in waits]),
    ]
    table = lines(columns, screen.width)
    if not table:
        yield Text("nothing waits", DIM)
    for line, wait in zip(table, [None, *waits], strict=False):
        yield line
        if wait is not None:
            yield from _below(wait, screen)


def _what_for(wait: WaitRow) -> str:
    return wait.kind if wait.kind in ("answer", "timer") else f"{wait.kind} {wait.name}"


def _below(wait: WaitRow, screen: Screen) -> Iterable[Text]:
    if wait.shown is not None:
        yield _note(compact(wait.shown, 300), DIM, screen)
    if wait.refused is not None:
        yield _note(f"the last answer was dropped: {wait.refused}", BAD, screen)
    if wait.blocked is not None:
        yield _note(f"blocked: {wait.blocked}", BAD, screen)


def _note(text: str, style: str, screen: Screen) -> Text:
    """A line that belongs to the one above it."""
    return cut(Text("  ").append_text(plain(text, style)), screen.width)
