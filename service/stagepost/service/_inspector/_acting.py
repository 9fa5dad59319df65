"""Pages that say what an act will do, ask for what it needs, and do it."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException

from stagepost.checkpoint import RunFilters, RunStatus
from stagepost.workflows import EffectsAgain

from .._http._errors import KNOWN
from ..errors import InvalidBody
from ._acts import ACTS, Act
from ._asking import Ask
from ._bodies import Form, read_form
from ._doing import DOINGS
from ._previews import NAMED, Below, told_before
from ._refusals import said_as
from ._run import is_agent, signals_of
from ._shown import Led, Shown


async def preview(ask: Ask) -> Shown:
    """What an act will do to a run, and what it needs to know."""
    act = act_of(ask)
    typed = {name: values for name, values in ask.request.query_params.items() if name in ("at", "path", "name")}
    return await _page(ask, act, Form({name: [value] for name, value in typed.items()}))


async def perform(ask: Ask) -> Shown | Led:
    """Do it, and go where it can be seen; or say why not, with all that was typed."""
    act, form = act_of(ask), await read_form(ask.request)
    run_id = ask.path("run_id")
    try:
        found = await DOINGS[act.name](ask, run_id, form)
    except InvalidBody as error:
        problems = {each.field: each.message for each in error.details}
        return await _page(ask, act, form, problems=problems, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    except KNOWN as error:
        return await _refused(ask, act, form, error)
    return Led(ask.url("runs", found) if found else ask.url("runs"), act.did)


def act_of(ask: Ask) -> Act:
    """The act that is asked for, which whoever asks may do.

    Raises:
        HTTPException: There is no such act.
        ScopeRequired: The key does not allow it.
        RequestRefused: A file is looked at.
    """
    act = ACTS.get(ask.path("act"))
    if act is None:
        raise HTTPException(404)
    _ = ask.verbs
    ask.caller.require(act.scope)
    return act


async def _refused(ask: Ask, act: Act, form: Form, error: Exception) -> Shown:
    """The page again, with why it was not done: somebody else was first, for example."""
    status = said_as(error)
    again = error.effects if isinstance(error, EffectsAgain) else ()
    return await _page(ask, act, form, problem=str(error), again=again, status=status)


async def _page(
    ask: Ask,
    act: Act,
    form: Form,
    *,
    problem: str = "",
    problems: Mapping[str, str] | None = None,
    again: Sequence[tuple[str, str]] = (),
    status: int = HTTPStatus.OK,
) -> Shown:
    run_id = ask.path("run_id")
    found = await ask.sight.inspect(ask.caller, run_id)
    values: dict[str, Any] = {
        "act": act,
        "run": found.shown.run,
        "shown": found.shown,
        "fits": act.fits(found.shown.run, is_agent=is_agent(found.shown.state)),
        "tells": told_before(act.name, found.shown, await _below(ask, act)),
        "form": form,
        "problem": problem,
        "problems": problems or {},
        "again": again,
        "paths": _paths(found.history.items) if act.name == "fork" else (),
        "signals": await signals_of(ask, found.shown.run.workflow) if act.name == "signal" else (),
    }
    return Shown("act", f"{act.title} · {run_id}", values, section="runs", status=status)


async def _below(ask: Ask, act: Act) -> Below:
    """Runs that its steps have started, and that the act ends or deletes with it."""
    if act.name not in ("cancel", "delete"):
        return Below()
    filters: RunFilters = {"below": ask.path("run_id"), "status": [RunStatus(each) for each in sorted(act.statuses)]}
    page = await ask.sight.list(ask.caller, filters, limit=NAMED)
    number = len(page.runs) if page.next is None else (await ask.sight.count(ask.caller, filters)).total
    return Below([each.run_id for each in page.runs], number)


def _paths(entries: Sequence[Any]) -> Sequence[str]:
    """Paths of steps that have completed, for whoever chooses one."""
    return list(dict.fromkeys(each.path for each in entries if getattr(each, "outcome", None) == "ok"))
