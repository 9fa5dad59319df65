"""Reading what comes with a request: every field is checked, and what is refused is named, never repeated."""

from collections.abc import Sequence
from typing import Final, TypeVar, get_origin

from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request

from ...errors import Detail, InputRefused, InvalidBody

M = TypeVar("M", bound=BaseModel)

_LONGEST_KEY: Final = 200


async def read_body(request: Request, model: type[M]) -> M:
    """The body of a request.

    Raises:
        InvalidBody: It is no JSON, or not what the model takes.
    """
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise InvalidBody("The body has to be JSON, with Content-Type: application/json")
    body = await request.body()
    try:
        return model.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise InvalidBody("The body does not fit", details(error)) from None


def read_query(given: QueryParams, model: type[M]) -> M:
    """What stands after the question mark of an address.

    Raises:
        InvalidBody: It is not what the model takes.
    """
    values: dict[str, str | list[str]] = {}
    for name in given:
        found = given.getlist(name)
        field = model.model_fields.get(name)
        is_list = field is not None and get_origin(field.annotation) is list
        values[name] = found if is_list or len(found) > 1 else found[0]
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InvalidBody("The query does not fit", details(error)) from None


def read_key(headers: Headers) -> str | None:
    """The header ``Idempotency-Key``.

    Raises:
        InputRefused: It is empty, too long or not of printable characters.
    """
    key = headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isprintable()):
        raise InputRefused(f"Idempotency-Key: give 1 to {_LONGEST_KEY} printable characters")
    return key


def details(error: ValidationError) -> Sequence[Detail]:
    """What is wrong, and where."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [Detail(".".join(map(str, each["loc"])), each["msg"].removeprefix("Value error, ")) for each in found]
