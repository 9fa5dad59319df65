"""Names of calls and of tools, as providers take them: a model may write any, and another one may have written them."""

import re
from collections.abc import Container
from hashlib import sha256
from typing import Final

from ._provider import Provider

_ANY: Final = re.compile(r"[a-zA-Z0-9_-]{1,40}")  # what all of them take; OpenAI has the shortest
_MISTRAL: Final = re.compile(r"[a-zA-Z0-9]{9}")
_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")  # what all of them take; Gemini wants a letter first
_ODD: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST: Final = 64
_SEPARATOR: Final = "__thought__"  # what litellm puts between an id of Gemini's and a signature


class CallIds:
    """Ids of the calls of one conversation: each is what the model wrote, if the provider takes it and it is free.

    The others get one that is made of it and of their place, so that it is the same in the next request.

    Args:
        provider: Who has to take them.
    """

    def __init__(self, provider: Provider) -> None:
        self._is_mistral = provider.api == "mistral"
        self._form = _MISTRAL if self._is_mistral else _ANY
        self._taken: set[str] = set()

    def next(self, written: str) -> str:
        """The id of the next call.

        Args:
            written: What the model wrote.
        """
        made, place = written, len(self._taken)
        while made in self._taken or not self._form.fullmatch(made):
            made = self._made(f"{place}:{made}")
        self._taken.add(made)
        return made

    def _made(self, text: str) -> str:
        digest = sha256(text.encode()).hexdigest()
        return digest[:9] if self._is_mistral else f"call_{digest[:24]}"


def bare_id(call_id: str) -> str:
    """An id without the signature that litellm hides in it."""
    return call_id.partition(_SEPARATOR)[0]


def sendable(name: str, known: Container[str]) -> str:
    """The name of a called tool: as the model wrote it, if it is one of the known, or one that could be."""
    if name in known or _NAME.fullmatch(name):
        return name
    fitted = fitting(name) or "unnamed"
    return fitted if _NAME.fullmatch(fitted) else f"_{fitted}"[:_LONGEST]


def fitting(name: str) -> str:
    """A name with an underscore for each character that no provider takes, and no longer than they take."""
    return _ODD.sub("_", name)[:_LONGEST]
