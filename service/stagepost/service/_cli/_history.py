"""``runs history``: what has happened to a run."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from rich.text import Text

from .._wire._history import HistoryPage, HistoryRow
from ._exits import Exit
from ._layout import Column, cut, lines
from ._screen import Screen
from ._styles import BAD, DIM, GOOD, STATUSES, WAITS, WORKS, plain
from ._texts import shortened
from ._times import local, took
from ._values import compact
from ._where import Where

_VALUE = 120  # characters of a value that are shown with a change
_ERROR = 1_000  # characters of an error that are shown
_OUTCOMES = {"ok": GOOD, "failed": BAD, "waiting": WAITS, "cancelled": DIM}


async def told(where: Where, run_id: str, after: int | None, limit: int, screen: Screen) -> Exit:
    """Show a page of what has happened to a run."""
    async with where.opened(screen.hint) as target:
        found = await target.history(run_id, after=after, limit=limit)
    screen.show(found, partial(_lines, found))
    if not found.is_complete:
        screen.hint(
            "the run keeps no history: this is what is still known of it (start runs with keep='all' to have it)"
        )
    if found.next is not None:
        screen.hint(f"more: --after {found.next}")
    return Exit.OK


def _lines(found: HistoryPage, screen: Screen) -> Iterable[Text]:
    entries = (*found.items, *found.under_way)
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


def _of(entry: HistoryRow, name: str) -> Any:
    """A field that entries of its type have."""
    return (entry.model_extra or {}).get(name)


def _where(entry: HistoryRow) -> str:
    if entry.type in ("attempt", "items", "wait", "child"):
        visits = _of(entry, "visits") or ()
        return f"{_of(entry, 'path')}#{'.'.join(map(str, visits))}" if any(visits) else str(_of(entry, "path"))
    return (_of(entry, "path") or "the run") if entry.type == "frame" else "the run"


def _what(entry: HistoryRow) -> Text:
    match entry.type:
        case "run":
            text = Text(_of(entry, "what"), STATUSES.get(_of(entry, "what"), ""))
        case "attempt":
            text = _attempted(entry)
        case "items":
            text = Text(f"{_of(entry, 'count')} items")
        case "wait" if _of(entry, "status") == "open":
            text = Text(f"asks for {_asked(entry)}", WAITS)
        case "wait":
            by = _of(entry, "by")
            text = plain(f"{_of(entry, 'status')} by {by}" if by else _of(entry, "status"))
        case "child":
            text = plain(f"has started {_of(entry, 'child')['run_id']}")
        case "frame":
            place = _of(entry, "next")
            text = plain("at its end" if place is None else f"goes on at {place}")
        case _:
            text = Text(entry.type)
    return text


def _attempted(entry: HistoryRow) -> Text:
    attempt, outcome = _of(entry, "attempt") or 1, _of(entry, "outcome")
    again = f", attempt {attempt}" if attempt > 1 else ""
    if outcome is None:
        return Text(f"under way{again}", WORKS)
    return Text.assemble((outcome, _OUTCOMES.get(outcome, "")), (again, DIM))


def _asked(entry: HistoryRow) -> str:
    kind, name = _of(entry, "kind"), _of(entry, "name")
    kinds = {"answer": "an answer", "timer": "some time", "effect": f"word of {name}"}
    return kinds.get(kind, f"{kind} {name}")


def _took(entry: HistoryRow) -> str:
    begun, ended = _of(entry, "begun"), _of(entry, "ended")
    if entry.type != "attempt" or begun is None or ended is None:
        return ""
    return took((datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds())


def _details(entry: HistoryRow, now: datetime) -> Iterable[Text]:
    if error := _of(entry, "error"):
        yield Text(shortened(error, _ERROR), BAD)
    if entry.type == "wait" and _of(entry, "status") == "answered":
        yield Text(compact(_of(entry, "answer"), _VALUE), DIM)
    for retry in _of(entry, "retries") or ():
        at = local(datetime.fromisoformat(retry["at"]), now)
        yield Text(shortened(f"{at} try {retry['attempt']} failed: {retry['error']}", _ERROR), BAD)
    for decision in _of(entry, "decisions") or ():
        yield plain(_decided(decision), DIM)
    for child in _of(entry, "children") or ():
        yield plain(f"has started {child['run_id']}: {child['status']}", DIM)
    for change in _of(entry, "changes") or ():
        yield plain(_changed(change), DIM)


def _decided(decision: Mapping[str, Any]) -> str:
    asked = "".join(f", {each['when'] or 'always'}: {'yes' if each['says'] else 'no'}" for each in decision["asked"])
    if decision["failed"]:
        return f"{decision['path']} has no way on{asked}"
    if decision["route"] is not None:
        return f"{decision['path']} takes {decision['route']}, of {', '.join(decision['routes'])}"
    return f"{decision['path']} → {decision['to'] or 'the end'}{asked}"


def _changed(change: Mapping[str, Any]) -> str:
    if change["added"] is not None:
        return f"{change['key']} + {change['added']}"
    after = change["after"]
    return f"{change['key']} = {'(large)' if after.get('not_read') else compact(after['value'], _VALUE)}"
