"""A model that follows a script: for tests, examples and demonstrations."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from anyio.lowlevel import checkpoint
from pydantic_core import to_json

from ..errors import ScriptEnded
from ._messages import ToolCall
from ._model import ModelRequest, ModelResponse
from ._script import Answer, Script
from ._tokens import Tokens

ScriptEntry: TypeAlias = Answer | Exception
"""What a script is made of."""


def call(tool: str, /, **arguments: object) -> ToolCall:
    """A tool call for a script.

    Args:
        tool: Name of the tool.
        arguments: The arguments of the call.
    """
    return ToolCall(id="", name=tool, arguments=to_json(arguments).decode())


class ScriptedModel:
    """Answers from a script, entry by entry; each conversation starts with the first entry.

    Its answer depends only on how many answers the conversation has so far (`ModelRequest.answers`), so a new object,
    in another process after a crash, continues where the old one was. Errors precede the answer that follows them: each
    is raised once by this object, for the first request for that answer.

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
        """Answer with the next entry for this conversation.

        Raises:
            ScriptEnded: There is none.
            Exception: The entry is this error.
        """
        await checkpoint()  # like any real model, let others run
        self._requests.append(request)
        turn = request.answers
        error = self._script.fault(turn)
        if error is not None:
            raise error
        answers = self._script.answers
        if turn >= len(answers):
            raise ScriptEnded(len(answers), request.messages[-1].text)
        Tokens(request).add_whole(answers[turn])
        return answers[turn]
