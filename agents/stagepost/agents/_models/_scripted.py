"""A model that says what a script says: for tests, examples and demonstrations."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from anyio.lowlevel import checkpoint
from pydantic_core import to_json

from ..errors import ScriptEnded
from ._messages import AssistantMessage, ToolCall
from ._model import ModelRequest, ModelResponse
from ._script import Answer, Script
from ._tokens import Tokens

ScriptEntry: TypeAlias = Answer | Exception
"""What a script is made of."""


def call(tool: str, /, **arguments: object) -> ToolCall:
    """A tool call for a script.

    Args:
        tool: Name of the tool.
        arguments: What it is called with.
    """
    return ToolCall(id="", name=tool, arguments=to_json(arguments).decode())


class ScriptedModel:
    """Answers from a script: entry by entry, in each conversation from the first one on.

    Which answer it gives depends on nothing but how many answers the request already holds, so a new object, in another
    process after a crash, goes on where the old one was. Errors stand before the answer behind them: each is raised
    once by this object, to the first request that comes for that answer.

    Args:
        script: Texts, calls (`call`, or a list of them for several at once), whole `ModelResponse`, or exceptions.
    """

    def __init__(self, script: Iterable[ScriptEntry]) -> None:
        self._script = Script(script, (Exception,))
        self._requests: list[ModelRequest] = []

    @property
    def requests(self) -> Sequence[ModelRequest]:
        """The requests that this object got, in order."""
        return tuple(self._requests)

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Give the entry that comes next in this conversation.

        Raises:
            ScriptEnded: There is none.
            Exception: The entry is this error.
        """
        await checkpoint()  # any real model would let others run
        self._requests.append(request)
        turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
        error = self._script.fault(turn)
        if error is not None:
            raise error
        answers = self._script.answers
        if turn >= len(answers):
            raise ScriptEnded(len(answers), request.messages[-1].text)
        Tokens(request).add_whole(answers[turn])
        return answers[turn]
