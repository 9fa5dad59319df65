"""Free text values that travel with a message."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from .errors import InvalidArgument

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


def read_headers(headers: object) -> Mapping[str, str]:
    """An immutable copy of headers.

    Raises:
        InvalidArgument: They are not a mapping of text to text.
    """
    if not isinstance(headers, Mapping):
        raise InvalidArgument("headers", headers, 'use a dictionary of text: {"role": "staff"}')
    for name, value in headers.items():
        if not isinstance(name, str):
            raise InvalidArgument("a header's name", name, "use text")
        if not isinstance(value, str):
            raise InvalidArgument(f"header {name!r}", value, "use text; structured data belongs in the payload")
    return MappingProxyType(dict(headers))
