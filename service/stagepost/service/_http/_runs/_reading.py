"""Reading what comes with a request beside its body."""

from typing import Final, TypeVar, get_origin

from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers, QueryParams

from ...errors import InputRefused, InvalidBody
from .._bodies import details

M = TypeVar("M", bound=BaseModel)

LONGEST_KEY: Final = 200


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
    if key is not None and not (0 < len(key) <= LONGEST_KEY and key.isprintable()):
        raise InputRefused(f"Idempotency-Key: give 1 to {LONGEST_KEY} printable characters")
    return key
