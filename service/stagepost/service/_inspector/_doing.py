"""Doing what a form asks for to one run."""

import json
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, cast

from pydantic import JsonValue
from pydantic_core import from_json

from .._wire._asked import read_labels
from ..errors import Detail, InvalidBody
from ._asking import Ask
from ._bodies import Form

Do: TypeAlias = Callable[[Ask, str, Form], Awaitable[str]]
"""Does it to a run; the run to look at afterwards, or nothing."""


async def _cancel(ask: Ask, run_id: str, _: Form) -> str:
    await ask.verbs.cancel(ask.caller, run_id)
    return run_id


async def _resume(ask: Ask, run_id: str, _: Form) -> str:
    return (await ask.verbs.resume(ask.caller, run_id)).run_id


async def _delete(ask: Ask, run_id: str, _: Form) -> str:
    await ask.verbs.delete(ask.caller, run_id)
    return ""


async def _fork(ask: Ask, run_id: str, form: Form) -> str:
    effects = form.get("effects")
    made = await ask.verbs.fork(
        ask.caller,
        run_id,
        at=_number_or_path(form.get("at")),
        changes=_object(form, "changes"),
        effects=cast("Literal['again', 'keep']", effects) if effects in ("again", "keep") else None,
        new_id=form.get("new_id") or None,
        labels=labels(form),
    )
    return made.run_id


async def _retry_items(ask: Ask, run_id: str, form: Form) -> str:
    made = await ask.verbs.retry_items(ask.caller, run_id, path=form.get("path") or None)
    return made.run_id


async def _tell(ask: Ask, run_id: str, form: Form) -> str:
    text = form.get("text")
    if not text:
        raise InvalidBody("The message is empty", [Detail("text", "write something")])
    await ask.verbs.tell(ask.caller, run_id, text)
    return run_id


async def _signal(ask: Ask, run_id: str, form: Form) -> str:
    await ask.verbs.signal(ask.caller, run_id, form.get("name"), json_in(form, "value"))
    return run_id


DOINGS: Final[Mapping[str, Do]] = MappingProxyType(
    {
        "cancel": _cancel,
        "delete": _delete,
        "fork": _fork,
        "resume": _resume,
        "retry_items": _retry_items,
        "signal": _signal,
        "tell": _tell,
    }
)


def json_in(form: Form, name: str) -> JsonValue:
    """JSON in a field; null if it is empty.

    Raises:
        InvalidBody: It is none.
    """
    text = form.get(name)
    try:
        value: JsonValue = from_json(text, allow_inf_nan=False) if text else None
    except ValueError as error:
        raise InvalidBody("The form does not fit", [Detail(name, f"this is no JSON: {error}")]) from None
    return value


def as_json(value: Any) -> str:
    """A value as it stands in a field of JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def labels(form: Form) -> dict[str, str]:
    """Labels, one a line.

    Raises:
        InvalidBody: A line is not of the form NAME=VALUE.
    """
    lines = [line.strip() for line in form.get("labels").splitlines() if line.strip()]
    wrong = next((line for line in lines if not all(line.partition("="))), None)
    if wrong is not None:
        raise InvalidBody("The form does not fit", [Detail("labels", f"{wrong!r} is not of the form NAME=VALUE")])
    return read_labels(lines)


def _object(form: Form, name: str) -> dict[str, JsonValue] | None:
    value = json_in(form, name)
    if value is None or isinstance(value, dict):
        return value or None
    raise InvalidBody("The form does not fit", [Detail(name, "give a JSON object, with a value for each key")])


def _number_or_path(text: str) -> int | str | None:
    return int(text) if text.isdecimal() and len(text) < 19 else (text or None)  # noqa: PLR2004  # digits that fit
