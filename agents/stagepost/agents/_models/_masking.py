"""Texts of others without the keys that they may repeat."""

import re
from collections.abc import Iterable
from typing import Final

from pydantic_core import to_json

_MASK: Final = "***"
_SHORTEST: Final = 6  # characters; a shorter text is found in much that has nothing to do with it
_KEYS: Final = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|key)-[\w*-]{6,}|\bAIza[\w-]{10,}|(?<=Bearer )[\w.~+/=*-]+", re.IGNORECASE
)


class Mask:
    """Puts three stars where a text shows a secret, or something that looks like an API key.

    Args:
        secrets: Texts that are not to be seen; very short ones are not looked for.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        texts = [secret for secret in secrets if len(secret) >= _SHORTEST]
        in_json = [to_json(text).decode()[1:-1] for text in texts]
        self._known = sorted({*texts, *in_json}, key=len, reverse=True)

    def known(self, text: str) -> str:
        """The text without the secrets."""
        for secret in self._known:
            text = text.replace(secret, _MASK)
        return text

    def all(self, text: str) -> str:
        """The text without the secrets and without what looks like one."""
        return _KEYS.sub(_MASK, self.known(text))
