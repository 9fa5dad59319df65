"""The same act on all runs that match a filter: what will happen, and what came of each."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException

from stagepost.checkpoint import RunFilters, RunNotFound, RunStatus

from .._http._errors import KNOWN
from .._wire._runs import RunRow
from ._acting import act_of
from ._acts import Act
from ._asking import Ask
from ._bodies import Form, read_form
from ._doing import DOINGS
from ._filters import Filters
from ._refusals import said_as
from ._shown import Shown

_AT_ONCE: Final = 500  # runs by one click: the rest are there for the next one
_PAGE: Final = 100
_NAMED: Final = 20


async def many(ask: Ask) -> Shown:
    """How many runs an act would be done to, and some of them."""
    act, filters = _act(ask), Filters.of(ask.request.query_params, limit=_NAMED)
    return await _page(ask, act, filters, {})


async def perform_many(ask: Ask) -> Shown:
    """Do it to each; one that refuses does not keep the others from it."""
    act, filters, form = _act(ask), Filters.of(ask.request.query_params, limit=_PAGE), await read_form(ask.request)
    if act.is_final and form.get("sure") != "yes":
        return await _page(ask, act, filters, {"is_unsure": True}, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    done, refused = list[str](), list[tuple[str, str]]()
    for run in await _matching(ask, act, filters):
        try:
            done.append(await DOINGS[act.name](ask, run.run_id, Form({})))
        except KNOWN as error:
            if not isinstance(error, RunNotFound):  # somebody has deleted it meanwhile
                said_as(error)
            refused.append((run.run_id, str(error)))
    return await _page(ask, act, filters, {"done": done, "refused": refused})


async def _matching(ask: Ask, act: Act, filters: Filters) -> Sequence[RunRow]:
    """Runs that match now, the oldest first, as many as are done at once: listed before anything changes."""
    found: list[RunRow] = []
    after: str | None = None
    while len(found) < _AT_ONCE:
        page = await ask.sight.list(ask.caller, _of(act, filters), after=after, limit=_PAGE, newest_first=False)
        found += page.runs
        after = page.next
        if after is None:
            break
    return found[:_AT_ONCE]


def _act(ask: Ask) -> Act:
    act = act_of(ask)
    if not act.of_many:
        raise HTTPException(404)
    return act


def _of(act: Act, filters: Filters) -> RunFilters:
    """The filter, with those statuses only that the act is for."""
    chosen = filters.store().get("status")
    names = None if chosen is None else {RunStatus(each) for each in _listed(chosen)}
    fitting = [each for each in RunStatus if each.value in act.statuses and (names is None or each in names)]
    return filters.store(status=fitting)


def _listed(chosen: Any) -> Sequence[Any]:
    return [chosen] if isinstance(chosen, RunStatus) else list(chosen)


async def _page(ask: Ask, act: Act, filters: Filters, came: dict[str, Any], *, status: int = HTTPStatus.OK) -> Shown:
    if filters.asked is None:
        raise HTTPException(422, "; ".join(f"{name}: {why}" for name, why in filters.problems.items()))
    of = _of(act, filters)
    number = (await ask.sight.count(ask.caller, of)).total if of["status"] else 0
    first = (await ask.sight.list(ask.caller, of, limit=_NAMED, newest_first=False)).runs if number else ()
    values = {
        "act": act,
        "filters": filters,
        "told": [f"{name}: {value}" for name, value in _told(filters)],
        "number": number,
        "first": first,
        "at_once": _AT_ONCE,
        "address": ask.url("many", act.name, **filters.query()),
        "back": ask.url("runs", **filters.query()),
        "done": None,
        "refused": (),
        "is_unsure": False,
        **came,
    }
    return Shown("many", act.of_many, values, section="runs", status=status)


def _told(filters: Filters) -> Sequence[tuple[str, str]]:
    """The filter, for people."""
    pairs = [(name, ", ".join(value) if isinstance(value, list) else value) for name, value in filters.query().items()]
    return [(name.replace("_", " "), value) for name, value in pairs if value]
