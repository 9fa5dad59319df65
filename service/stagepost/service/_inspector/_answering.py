"""Answering what runs wait for: the page of one wait, and what its form says."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic import JsonValue

from stagepost.agents import InvalidDecision
from stagepost.checkpoint import AlreadyAnswered, CannotStore, EffectNotFound, RunNotFound, RunNotOpen, WaitNotFound

from .._http._errors import KNOWN
from .._wire._asked import refusal, verdict
from .._wire._waits import WaitRow
from ..errors import Detail, InvalidBody
from ._asking import Ask
from ._bodies import Form, read_form
from ._doing import as_json, json_in
from ._fields import fields_of, typed_value
from ._questions import Question, question_of
from ._refusals import said_as
from ._shown import Led, Shown
from ._words import Words

_LATE = (AlreadyAnswered, EffectNotFound, RunNotOpen, WaitNotFound)
_NOTHING = Form({})
_PAGE = 1_000  # waits of a run that are looked through at once


async def wait(ask: Ask) -> Shown:
    """A wait, and what can be said to it."""
    found = await _wait(ask)
    return await _page(ask, found, _NOTHING) if found is not None else await _over(ask)


async def answer(ask: Ask) -> Shown | Led:
    """Say it; or say why it does not count, with all that was typed."""
    found, form = await _wait(ask), await read_form(ask.request)
    if found is None:
        return await _over(ask, is_late=True)
    question = await asked(ask, found)
    try:
        await _say(ask, question, form)
    except InvalidBody as error:
        problems = {each.field: each.message for each in error.details}
        return await _page(ask, found, form, problems=problems)
    except (CannotStore, InvalidDecision) as error:
        return await _page(ask, found, form, problem=str(error))
    except _LATE:
        return await _over(ask, is_late=True)
    except KNOWN as error:
        return await _page(ask, found, form, problem=str(error), status=said_as(error))
    here = ask.url("runs", found.run_id) if form.get("back") == "run" else ask.url()
    return Led(here, "The answer was stored, and the run goes on.")


async def asked(ask: Ask, found: WaitRow) -> Question:
    """What a wait asks, with the schema of its value."""
    known = None
    if found.kind in ("answer", "signal"):
        known = (await ask.sight.schema(ask.caller, found.wait_id)).known
    return question_of(found, known)


def item(question: Question, form: Form, problems: Mapping[str, str]) -> Mapping[str, Any]:
    """A question as templates show it, with the fields of its form."""
    own = as_json(question.arguments)
    return {
        "question": question,
        "wait": question.wait,
        "fields": fields_of(question, form.fields),
        "own": own,
        "arguments": form.get("arguments") or own,
        "reason": form.get("reason"),
        "result": form.get("result"),
        "problems": problems,
    }


async def _say(ask: Ask, question: Question, form: Form) -> None:
    choice, wait_id = form.get("choice"), question.wait.wait_id
    match question.kind, choice:
        case "approval", "allow":
            await ask.verbs.answer(ask.caller, wait_id, verdict(None, _arguments(question, form)))
        case "approval", "deny":
            await ask.verbs.answer(ask.caller, wait_id, verdict(_reason(form)))
        case "question", "refuse":
            await ask.verbs.answer(ask.caller, wait_id, refusal(_reason(form)))
        case (("question" | "value"), _):
            await ask.verbs.answer(ask.caller, wait_id, typed_value(question, form.fields))
        case "signal", _:
            wait = question.wait
            await ask.verbs.signal(ask.caller, wait.run_id, wait.name, typed_value(question, form.fields))
        case "effect", "retry":
            await ask.verbs.settle_wait(ask.caller, wait_id, retry=True)
        case "effect", "done":
            await ask.verbs.settle_wait(ask.caller, wait_id, value=_result(question, form))
        case _:
            raise InvalidBody("The form does not fit", [Detail("choice", "choose what is to be said")])


def _arguments(question: Question, form: Form) -> dict[str, JsonValue] | None:
    """Arguments in the place of the call's own; None if they were left as they are."""
    if not form.get("arguments"):
        return None
    given = json_in(form, "arguments")
    if not isinstance(given, dict):
        raise InvalidBody("The form does not fit", [Detail("arguments", "give a JSON object")])
    return None if given == question.arguments else given


def _reason(form: Form) -> str:
    if not form.get("reason"):
        raise InvalidBody("The form does not fit", [Detail("reason", "say why: the model is told")])
    return form.get("reason")


def _result(question: Question, form: Form) -> JsonValue:
    return form.get("result") if question.tool else json_in(form, "result")


async def _wait(ask: Ask) -> WaitRow | None:
    """The wait that is asked for, if it is open."""
    wait_id, after = ask.path("wait_id"), None
    run_id = wait_id.partition("/")[0]
    while True:
        try:
            page = await ask.sight.waits(ask.caller, run_id, after=after, limit=_PAGE)
        except RunNotFound:
            return None
        found = next((each for each in page.waits if each.wait_id == wait_id), None)
        if found is not None or page.next is None:
            return found
        after = page.next


async def _page(
    ask: Ask,
    found: WaitRow,
    form: Form,
    *,
    problem: str = "",
    problems: Mapping[str, str] | None = None,
    status: int = HTTPStatus.OK,
) -> Shown:
    question = await asked(ask, found)
    is_wrong = bool(problem or problems) and status == HTTPStatus.OK
    return Shown(
        "wait",
        f"{found.place} · {found.run_id}",
        {
            "item": item(question, form, problems or {}),
            "problem": problem,
            "problems": problems or {},
            "back": form.get("back") or ask.given("back"),
        },
        section="inbox",
        status=HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else status,
    )


async def _over(ask: Ask, *, is_late: bool = False) -> Shown:
    """Nothing waits there: who was first, and when."""
    wait_id = ask.path("wait_id")
    run_id, _, place = wait_id.partition("/")
    snapshot = (await ask.sight.inspect(ask.caller, run_id)).snapshot
    ended = [each for each in snapshot.waits if place in (each.place, f"{each.place}:{each.name}") and each.ended_at]
    last = max(ended, key=lambda each: each.ended_at or each.opened_at, default=None)
    told = "" if last is None else f"{last.status.value} {Words.time(last.ended_at)} UTC"
    by = "" if last is None else last.by or ""
    values = {"wait_id": wait_id, "run": snapshot.run, "told": told, "by": by, "is_late": is_late}
    status = HTTPStatus.CONFLICT if is_late else HTTPStatus.NOT_FOUND
    return Shown("over", wait_id, values, section="inbox", status=status)
