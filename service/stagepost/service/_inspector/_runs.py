"""The list of runs, with filters that combine."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stagepost.checkpoint import RunStatus

from .._wire._runs import RunCounts, RunPage
from ._asking import Ask
from ._filters import Filters
from ._shown import Shown

PAGE: Final = 40
_STATUSES: Final = ("running", "waiting", "failed", "completed", "cancelled", "dead")
_NONE: Final = RunPage(runs=[], next=None, previous=None, damaged=[])


async def runs(ask: Ask) -> Shown:
    """A page of runs, with how many there are of each status."""
    filters = Filters.of(ask.request.query_params, limit=PAGE)
    page: RunPage = _NONE
    counts: RunCounts | None = RunCounts(total=0, by="status", counts={})
    if filters.asked is not None:
        asked = filters.asked
        page = await ask.sight.list(
            ask.caller, filters.store(), after=asked.after, before=asked.before, limit=asked.limit
        )
        counts = await _counts(ask, filters, page)
    values = {
        "filters": filters,
        "page": page,
        "workflows": await _workflows(ask, filters.given["workflow"]),
        "tabs": _tabs(ask, filters, counts),
        "matching": _matching(filters, counts),
        "newer": page.previous and ask.url("runs", **filters.query(before=page.previous)),
        "older": page.next and ask.url("runs", **filters.query(after=page.next)),
        "chips": _chips(ask, filters),
        "many": {act: ask.url("many", act, **filters.query()) for act in ("resume", "cancel", "retry_items", "delete")},
    }
    return Shown("runs", "Runs", values, parts=("list",), section="runs")


async def _workflows(ask: Ask, chosen: str) -> Sequence[str]:
    """Names of workflows to choose from: those that are known here, or in a file alone those that have runs."""
    names = {each.name for each in (await ask.sight.workflows(ask.caller)).workflows}
    if not names:
        names = {*(await ask.sight.count(ask.caller, {}, by="workflow")).counts}
    return sorted({*names, *filter(None, [chosen])})


async def _counts(ask: Ask, filters: Filters, page: RunPage) -> RunCounts | None:
    """How many runs there are of each status, whatever status is asked for; None if they would have to be read."""
    if filters.is_combined and (page.next or page.previous):
        return None
    return await ask.sight.count(ask.caller, filters.store(status=None))


def _tabs(ask: Ask, filters: Filters, counts: RunCounts | None) -> Sequence[tuple[str, str, int | None, bool]]:
    chosen: list[str] = filters.given["status"]
    total = None if counts is None else counts.total
    tabs = [(ask.url("runs", **filters.query(status=[])), "all", total, not chosen)]
    for status in _STATUSES:
        address = ask.url("runs", **filters.query(status=[status]))
        number = None if counts is None else counts.counts.get(status, 0)
        tabs.append((address, status, number, chosen == [status]))
    return tabs


def _matching(filters: Filters, counts: RunCounts | None) -> int | None:
    if counts is None:
        return None
    names = set(filters.given["status"])
    if not names:
        return counts.total
    found = [each for each in RunStatus if each.value in names or ("open" in names and each.is_open)]
    return sum(counts.counts.get(each.value, 0) for each in found)


def _chips(ask: Ask, filters: Filters) -> Sequence[tuple[str, str]]:
    """What the list is filtered by, each with the address of the list without it."""
    names: Mapping[str, Any] = filters.given
    chips = [
        (f"label {each}", ask.url("runs", **filters.query(label=[other for other in names["label"] if other != each])))
        for each in names["label"]
    ]
    for name, word in (("below", "below"), ("forked_from", "forks of"), ("key", "key")):
        if names[name]:
            chips.append((f"{word} {names[name]}", ask.url("runs", **filters.query(**{name: ""}))))
    return chips
