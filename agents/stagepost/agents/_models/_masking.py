"""Masking of keys in other people's texts."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from pydantic import JsonValue

from stagepost.workflows import Mask

from ._messages import ProviderContent

_MASK: Final = "***"
_KEYS: Final = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|key)-[\w*-]{6,}|\bAIza[\w-]{10,}|(?<=Bearer )[\w.~+/=*-]+", re.IGNORECASE
)


class KeyMask:
    """Replaces secrets, and anything that looks like an API key, with three stars.

    Args:
        secrets: Texts to hide; very short ones are not searched for.

    Attributes:
        known: Masks the given secrets only.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.known: Final = Mask(secrets)

    def all(self, text: str) -> str:
        """The text without the secrets and without anything that looks like one."""
        return _KEYS.sub(_MASK, self.known(text))


def without_secret_content(
    content: Sequence[ProviderContent], mask: Callable[[str], str]
) -> tuple[ProviderContent, ...]:
    """Provider content without entries that show a secret: the provider would refuse masked ones.

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
