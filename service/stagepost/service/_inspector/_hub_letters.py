"""One dead letter: what it says, and sending it again."""

import json
from http import HTTPStatus
from typing import Final

from pydantic_core import PydanticSerializationError, to_jsonable_python

from stagepost.hub import DeadLetterNotFound, HubError, MessageType

from .._keys._key import Scope
from ._asking import Ask
from ._hub import letter_row
from ._shown import Led, Shown

_MOST: Final = 20_000  # letters of a payload


async def letter(ask: Ask) -> Shown:
    """A dead letter with its payload."""
    return await _page(ask)


async def resend(ask: Ask) -> Shown | Led:
    """Send it again; if that is refused, its page says why."""
    ask.caller.require(Scope.ADMIN)
    try:
        await ask.verbs.resend(ask.caller, ask.path("message_id"), by=ask.caller.name)
    except HubError as error:
        return await _page(ask, problem=str(error), status=HTTPStatus.CONFLICT)
    return Led(ask.url("hub"), "The letter was sent again.")


async def _page(ask: Ask, *, problem: str = "", status: int = HTTPStatus.OK) -> Shown:
    message_id = ask.path("message_id")
    try:
        found = await ask.verbs.letter(ask.caller, message_id)
    except DeadLetterNotFound as error:
        gone = HTTPStatus.CONFLICT if problem else HTTPStatus.NOT_FOUND
        values = {"letter": None, "problem": problem or str(error), "message_id": message_id}
        return Shown("letter", f"Dead letter {message_id}", values, section="hub", status=gone)
    shown: dict[str, object] = {
        "letter": found,
        "row": letter_row(ask, found),
        "payload": payload_text(ask, found.message.data),
        "headers": {name: masked(ask, value) for name, value in found.message.headers.items()},
        "is_reply": found.message.type is MessageType.RESPONSE,
        "is_request": found.message.type is MessageType.REQUEST,
        "problem": problem,
        "message_id": message_id,
    }
    return Shown("letter", f"Dead letter {message_id}", shown, section="hub", status=status)


def payload_text(ask: Ask, payload: object) -> str:
    """A payload as JSON, without the secrets of the runner; of one that has no JSON only its class."""
    try:
        value = to_jsonable_python(payload, serialize_unknown=True, inf_nan_mode="strings")
        text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    except (PydanticSerializationError, ValueError, TypeError, RecursionError):
        text = f"a {type(payload).__qualname__}, which cannot be shown"
    shown = masked(ask, text)
    return shown if len(shown) <= _MOST else f"{shown[:_MOST]}…"


def masked(ask: Ask, text: str) -> str:
    """A text without the secrets of the runner."""
    return text if ask.serving is None else ask.serving.runner.mask(text)
