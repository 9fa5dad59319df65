"""Streaming of answers to a listener, piece by piece."""

import re
from collections.abc import Callable
from typing import Final

from stagepost.hub import get_logger
from stagepost.workflows import own_failure

from ._model import ModelRequest, ModelResponse, Token, TokenKind

_WORDS: Final = re.compile(r"\S*\s*")
_PIECE: Final = 8  # characters of a call's arguments


class Tokens:
    """The pieces of one attempt at an answer.

    If a listener raises, that is logged and it gets nothing more: the answer is not lost.

    Args:
        request: What is being answered.
    """

    def __init__(self, request: ModelRequest) -> None:
        self._listener: Callable[[Token], None] | None = request.on_token
        self._number = 0

    def add(self, text: str, kind: TokenKind = "text", tool: str | None = None, call: int | None = None) -> None:
        """Hand on a piece."""
        if self._listener is None or not text:
            return
        try:
            self._listener(Token(self._number, text, kind, tool, call))
        except BaseException as error:  # noqa: BLE001  # a looker-on: the answer goes on without it
            failure = own_failure(error)
            self._listener = None
            get_logger("agents").warning("token_listener_failed", error=type(failure).__name__)
        self._number += 1

    def add_whole(self, response: ModelResponse) -> None:
        """Hand on a whole answer as a stream would bring it."""
        if self._listener is not None:
            for word in _WORDS.findall(response.thinking):
                self.add(word, "thinking")
            for word in _WORDS.findall(response.text):
                self.add(word)
            for index, call in enumerate(response.calls):
                for start in range(0, len(call.arguments), _PIECE):
                    self.add(call.arguments[start : start + _PIECE], "arguments", call.name, index)
