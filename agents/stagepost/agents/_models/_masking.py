"""Texts of others without the keys that they may repeat."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from pydantic import JsonValue

from stagepost.workflows import Mask as Known

from ._messages import ProviderContent

_MASK: Final = "***"
_KEYS: Final = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|key)-[\w*-]{6,}|\bAIza[\w-]{10,}|(?<=Bearer )[\w.~+/=*-]+", re.IGNORECASE
)


class KeyMask:
    """Puts three stars where a text shows a secret, or something that looks like an API key.

    Args:
        secrets: Texts that are not to be seen; very short ones are not looked for.

    Attributes:
        known: Gives a text without the secrets.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.known: Final = Known(secrets)

    def all(self, text: str) -> str:
        """The text without the secrets and without what looks like one."""
        return _KEYS.sub(_MASK, self.known(text))


def without_secret_content(
    content: Sequence[ProviderContent], mask: Callable[[str], str]
) -> tuple[ProviderContent, ...]:
    """What belongs to a provider, but for what shows a secret: with stars in it its provider would refuse it.

    Args:
        content: What belongs to it.
        mask: Gives a text without the secrets.
    """
    return tuple(one for one in content if all(mask(text) == text for text in _texts(list(one.data))))


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for inner in value:
                yield from _texts(inner)
        case dict():
            yield from value
            for inner in value.values():
                yield from _texts(inner)
        case _:
            return
