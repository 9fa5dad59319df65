"""Forms as browsers send them."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request

from stagepost._dataclasses import dataclass

from ..errors import InvalidBody

_FORM: Final = "application/x-www-form-urlencoded"
_MOST: Final = 500


@dataclass(frozen=True, slots=True)
class Form:
    """What was typed.

    Attributes:
        fields: Values by the names of fields.
    """

    fields: Mapping[str, Sequence[str]]

    def get(self, name: str) -> str:
        """A field, without spaces around it; empty if it is not there."""
        return self.fields.get(name, ("",))[-1].strip()


async def read_form(request: Request) -> Form:
    """The form of a request; its lines end as those of the texts that were shown.

    Raises:
        InvalidBody: It is none.
    """
    body = await request.body()
    if body and request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise InvalidBody(f"Send the form as {_FORM}")
    try:
        found = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_MOST)
    except ValueError:
        raise InvalidBody("The form cannot be read") from None
    return Form({name: [each.replace("\r\n", "\n") for each in values] for name, values in found.items()})
