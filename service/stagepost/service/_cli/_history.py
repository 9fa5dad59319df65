"""``runs history``: what has happened to a run."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from rich.text import Text

from stagepost.workflows import (
    AttemptEntry,
    ChildEntry,
    DecisionEntry,
    FrameEntry,
    HistoryEntry,
    ItemsEntry,
    KeyChange,
    RunEntry,
    RunHistory,
    WaitEntry,
    read_history,
)

from .._wire._history import HistoryPage
from ._access import reading
from ._exits import Exit
from ._layout import Column, cut, lines
from ._screen import Screen
from ._styles import BAD, DIM, GOOD, STATUSES, WAITS, WORKS, plain
from ._texts import shortened
from ._times import local, took
from ._values import compact

_VALUE = 120  # characters of a value that are shown with a change
_ERROR = 1_000  # characters of an error that are shown
_OUTCOMES = {"ok": GOOD, "failed": BAD, "waiting": WAITS, "cancelled": DIM}


async def told(file: Path | None, run_id: str, after: int | None, limit: int, screen: Screen) -> Exit:
    """Show a page of what has happened to a run."""
    async with reading(file) as reader:
        found = await read_history(reader, run_id, after=after, limit=limit)
    screen.show(HistoryPage.model_validate(found.to_dict()), partial(_lines, found))
    if not found.is_complete:
        screen.hint(
            "the run keeps no history: this is what is still known of it (start runs with keep='all' to have it)"
        )
    if found.next is not None:
        screen.hint(f"more: --after {found.next}")
    return Exit.OK


def _lines(found: RunHistory, screen: Screen) -> Iterable[Text]:
    entries: Sequence[HistoryEntry] = (*found.items, *found.under_way)
    if not entries:
        yield Text("nothing is known", DIM)
    now = screen.now
    columns = [
        Column("#", [Text("" if each.number is None else str(each.number), DIM) for each in entries]),
        Column("SAVED", [Text(local(each.saved_at, now), DIM) for each in entries]),
        Column("WHERE", [plain(_where(each)) for each in entries], least=12),
        Column("WHAT", [_what(each) for each in entries], least=12),
        Column("TOOK", [Text(_took(each), DIM) for each in entries]),
    ]
    for line, entry in zip(lines(columns, screen.width), [None, *entries], strict=False):
        yield line
        if entry is not None:
            yield from (cut(Text("    ").append_text(each), screen.width) for each in _details(entry, now))


def _where(entry: HistoryEntry) -> str:
    match entry:
        case AttemptEntry() | ItemsEntry() | WaitEntry() | ChildEntry():
            visits = f"#{'.'.join(map(str, entry.visits))}" if any(entry.visits) else ""
            return f"{entry.path}{visits}"
        case FrameEntry():
            return entry.path or "the run"
    return "the run"


def _what(entry: HistoryEntry) -> Text:
    match entry:
        case RunEntry():
            text = Text(entry.what, STATUSES.get(entry.what, ""))
        case AttemptEntry():
            text = _attempted(entry)
        case ItemsEntry():
            text = Text(f"{entry.count} items")
        case WaitEntry(status="open"):
            text = Text(f"asks for {_asked(entry)}", WAITS)
        case WaitEntry():
            text = plain(f"{entry.status} by {entry.by}" if entry.by else entry.status)
        case ChildEntry():
            text = plain(f"has started {entry.child.run_id}")
        case FrameEntry():
            text = plain("at its end" if entry.next is None else f"goes on at {entry.next}")
        case _:
            text = Text(entry.type)
    return text


def _attempted(entry: AttemptEntry) -> Text:
    again = f", attempt {entry.attempt}" if (entry.attempt or 1) > 1 else ""
    if entry.outcome is None:
        return Text(f"under way{again}", WORKS)
    return Text.assemble((entry.outcome.value, _OUTCOMES.get(entry.outcome.value, "")), (again, DIM))


def _asked(entry: WaitEntry) -> str:
    kinds = {"answer": "an answer", "timer": "some time", "effect": f"word of {entry.name}"}
    return kinds.get(entry.kind.value, f"{entry.kind.value} {entry.name}")


def _took(entry: HistoryEntry) -> str:
    return took(entry.seconds) if isinstance(entry, AttemptEntry) and entry.seconds is not None else ""


def _details(entry: HistoryEntry, now: datetime) -> Iterable[Text]:
    error = getattr(entry, "error", None)
    if error:
        yield Text(shortened(error, _ERROR), BAD)
    if isinstance(entry, WaitEntry) and entry.status == "answered":
        yield Text(compact(entry.answer, _VALUE), DIM)
    if isinstance(entry, AttemptEntry):
        for retry in entry.retries:
            yield Text(shortened(f"{local(retry.at, now)} try {retry.attempt} failed: {retry.error}", _ERROR), BAD)
        for decision in entry.decisions:
            yield plain(_decided(decision), DIM)
        for child in entry.children:
            yield plain(f"has started {child.run_id}: {child.status.value}", DIM)
    if isinstance(entry, RunEntry | AttemptEntry | FrameEntry):
        for change in entry.changes:
            yield plain(_changed(change), DIM)


def _decided(decision: DecisionEntry) -> str:
    asked = "".join(f", {each.when or 'always'}: {'yes' if each.says else 'no'}" for each in decision.asked)
    if decision.failed:
        return f"{decision.path} has no way on{asked}"
    if decision.route is not None:
        return f"{decision.path} takes {decision.route}, of {', '.join(decision.routes)}"
    return f"{decision.path} → {decision.to or 'the end'}{asked}"


def _changed(change: KeyChange) -> str:
    if change.added is not None:
        return f"{change.key} + {change.added}"
    return f"{change.key} = {compact(change.after.value, _VALUE) if change.after.is_here else '(large)'}"
