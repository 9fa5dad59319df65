"""What an agent says, from the parts of its stream."""

from collections.abc import AsyncIterator
from typing import Self

from ._part import StreamPart
from ._parts import MessageSaid, TokenArrived


class Spoken:
    """The text of the answers of the agent at the root, piece by piece: an async iterator.

    It is no generator: one that is left early has to be closed.

    Args:
        parts: The stream.
    """

    def __init__(self, parts: AsyncIterator[StreamPart]) -> None:
        self._parts = parts
        self._told = ""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        """The next piece."""
        while not (words := self._words(await anext(self._parts))):
            pass
        return words

    def _words(self, part: StreamPart) -> str:
        """What a part adds to the text.

        A message adds what its tokens have not told: all of it if there were none, or if they belong to another answer.
        """
        match part:
            case TokenArrived(kind="text", visit="", token=token, index=index):
                self._told = token if index == 0 else self._told + token
                return token
            case MessageSaid(role="assistant", visit="", text=text):
                told, self._told = self._told, ""
                return text.removeprefix(told)
            case _:
                return ""
