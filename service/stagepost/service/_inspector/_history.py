"""What has happened to a run, entry by entry, and one step of it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.exceptions import HTTPException

from .._wire._history import HistoryRow
from ._asking import Ask
from ._changes import changes_of
from ._run import followed
from ._shown import Shown

_PAGE: Final = 60
_ATTEMPTS: Final = 300  # entries that are looked through for other attempts at the same step


async def history(ask: Ask) -> Shown:
    """A page of what has happened."""
    run_id = ask.path("run_id")
    after = ask.given("after") or None
    page = await ask.sight.history(ask.caller, run_id, after=after, limit=_PAGE)
    values = {
        "page": page,
        "rows": [fields(each) for each in (*page.items, *page.under_way)],
        "first": ask.url("runs", run_id, "history") if after else "",
        "next": page.next and ask.url("runs", run_id, "history", after=page.next),
    }
    return Shown(
        "history", f"History of {run_id}", values, parts=("list",), section="runs", run_id=followed(page.status, run_id)
    )


async def step(ask: Ask) -> Shown:
    """What one step was given, what it has changed, and how often it was tried."""
    run_id, number = ask.path("run_id"), int(ask.path("number"))
    page = await ask.sight.history(ask.caller, run_id, after=number - 1 if number > 1 else None, limit=1)
    if not page.items or page.items[0].number != number:
        raise HTTPException(404, "There is no such entry in the history of this run")
    entry = fields(page.items[0])
    before = (await ask.sight.state(ask.caller, run_id, number - 1)).state
    after = (await ask.sight.state(ask.caller, run_id, number)).state
    keys = [each["key"] for each in entry.get("changes") or ()]
    values = {
        "run_id": run_id,
        "entry": entry,
        "before": before,
        "changes": changes_of(keys, before, after),
        "attempts": await _attempts(ask, run_id, entry),
    }
    return Shown("step", f"{entry.get('path', run_id)} · {run_id}", values, section="runs")


def fields(row: HistoryRow) -> dict[str, Any]:
    """An entry as a mapping, with the fields that only its type has."""
    return row.model_dump()


async def _attempts(ask: Ask, run_id: str, entry: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """All attempts at the step of an entry, as far as they are among the first of the history."""
    if entry["type"] != "attempt":
        return ()
    page = await ask.sight.history(ask.caller, run_id, limit=_ATTEMPTS)
    found = map(fields, page.items)
    same = ("path", "visits", "kind")
    return [each for each in found if each["type"] == "attempt" and all(each[key] == entry[key] for key in same)]
