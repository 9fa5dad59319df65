"""A value that a page has cut, whole, as plain text."""

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response

from .._wire._run import RunShown
from ._asking import Ask
from ._words import Words


async def whole(ask: Ask) -> Response:
    """A value of a run: its state, its input, its output, a message, the text of its error."""
    shown = await ask.sight.get(ask.caller, ask.path("run_id"))
    at = ask.given("at")
    if at.isdecimal() and len(at) < 19:  # noqa: PLR2004  # digits of a number of a history
        then = await ask.sight.state(ask.caller, ask.path("run_id"), int(at))
        shown = shown.model_copy(update={"state": then.state})
    found = _found(shown, ask.given("of"), ask.given("key"))
    if found is None:
        raise HTTPException(404, "There is no such value in this run any more")
    return PlainTextResponse(Words.json(found).encode("utf-8", "replace"), headers={"Content-Language": "zxx"})


def _found(shown: RunShown, of: str, key: str) -> Any:
    waits = {each.wait_id: each.shown for each in shown.waits}
    values: Mapping[str, Any] = {
        "input": shown.input,
        "output": shown.output,
        "traceback": shown.traceback,
        "error": shown.run.error,
        "state": shown.state.get(key) if key else shown.state,
        "wait": waits.get(key),
        "message": _message(shown.state, key),
    }
    return values.get(of)


def _message(state: Mapping[str, Any], key: str) -> Any:
    messages = state.get("messages")
    is_there = isinstance(messages, list) and key.isdecimal() and len(key) < 10 and int(key) < len(messages)  # noqa: PLR2004  # digits
    return messages[int(key)] if is_there and isinstance(messages, list) else None
