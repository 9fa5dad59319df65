"""Texts of others without the keys that they may repeat."""

import re
from collections.abc import Iterable
from typing import Final

from stagepost.workflows import Mask as Known

_MASK: Final = "***"
_KEYS: Final = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|key)-[\w*-]{6,}|\bAIza[\w-]{10,}|(?<=Bearer )[\w.~+/=*-]+", re.IGNORECASE
)


class Mask:
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
