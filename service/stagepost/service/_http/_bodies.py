"""Bodies of requests: read within limits, and checked before anybody works with them."""

import re
from collections.abc import Sequence
from math import isfinite
from typing import Final, TypeVar

import anyio
from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import from_json
from starlette.requests import Request
from starlette.types import Message, Receive

from ..errors import BodyTooLarge, BodyTooSlow, Detail, InvalidBody
from ._limits import RequestLimits

M = TypeVar("M", bound=BaseModel)

_JSON: Final = "application/json"
_MOST_DETAILS: Final = 20
_HUGE: Final = re.compile(rb"[eE]\+?\d{3}|\d{309}")  # what may be too large for a number


def check_length(content_length: str | None, limits: RequestLimits) -> None:
    """See that a body that says how long it is may be that long.

    Raises:
        BodyTooLarge: It may not.
    """
    if content_length is not None and content_length.isdecimal() and int(content_length[:20]) > limits.body:
        raise BodyTooLarge(limits.body)


def within(receive: Receive, limits: RequestLimits) -> Receive:
    """Receive a body that has to keep to limits, whatever it says of itself.

    The receiver raises `BodyTooLarge` or `BodyTooSlow`.
    """
    size, until, is_whole = 0, 0.0, False

    async def limited() -> Message:
        nonlocal size, until, is_whole
        if is_whole:  # what comes now is the end of the connection, for which a stream waits as long as it lasts
            return await receive()
        if limits.body_timeout is None:
            message = await receive()
        else:
            until = until or anyio.current_time() + limits.body_timeout
            with anyio.CancelScope(deadline=until) as waiting:
                message = await receive()
            if waiting.cancelled_caught:
                raise BodyTooSlow(limits.body_timeout)
        size += len(message.get("body", b""))
        if size > limits.body:
            raise BodyTooLarge(limits.body)
        is_whole = not message.get("more_body", False)
        return message

    return limited


async def read_json(request: Request, model: type[M]) -> M:
    """The body of a request, as a model; without a body, the model of ``{}``.

    Raises:
        InvalidBody: It is no JSON, or not what the model takes. The error says where, and not what was sent.
    """
    kind = request.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    if kind != _JSON:
        raise InvalidBody(f"The body has to be JSON, with Content-Type: {_JSON}")
    content = await request.body() or b"{}"
    try:
        _check_numbers(content)
        return model.model_validate_json(content)
    except ValidationError as error:
        raise InvalidBody("The body does not fit", details(error)) from None
    except ValueError as error:
        raise InvalidBody("The body does not fit", [Detail("", f"Invalid JSON: {error}")]) from None


def _check_numbers(content: bytes) -> None:
    """See that all numbers are some: models take ``NaN``, which JSON has not, and store ``1e999`` as nothing.

    Raises:
        ValueError: One is none.
    """
    if b"NaN" in content or b"Infinity" in content:
        from_json(content, allow_inf_nan=False)
    if _HUGE.search(content) and not _is_finite(from_json(content)):
        raise ValueError("a number is too large")


def _is_finite(value: JsonValue) -> bool:
    match value:
        case list():
            return all(map(_is_finite, value))
        case dict():
            return all(map(_is_finite, value.values()))
        case float():
            return isfinite(value)
    return True


def details(error: ValidationError) -> Sequence[Detail]:
    """What is wrong, and where."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [Detail(".".join(map(str, each["loc"])), each["msg"].removeprefix("Value error, ")) for each in found]
    return told[:_MOST_DETAILS]
