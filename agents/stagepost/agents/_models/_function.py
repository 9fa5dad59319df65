"""A model that is a function: for tests that need more than a script, and for your own models."""

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import TypeAlias

from anyio.lowlevel import checkpoint

from ._model import ModelRequest, ModelResponse
from ._script import Answer, as_response
from ._tokens import Tokens

ModelFunction: TypeAlias = Callable[[ModelRequest], Answer | Awaitable[Answer]]
"""What a `FunctionModel` is made of."""


class FunctionModel:
    """Answers with a function of the request.

    Args:
        function: Returns a text, a call (`call`, or a list of them for several at once), or a whole `ModelResponse`;
            an exception fails the run. It may be async; otherwise it runs in the event loop and must not block.
    """

    def __init__(self, function: ModelFunction) -> None:
        self._function = function

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """The function's answer, its calls with ids that are the same in every process."""
        await checkpoint()  # like any real model, let others run
        given = self._function(request)
        answer: Answer = await given if isawaitable(given) else given
        turn = request.answers
        response = as_response(answer, turn)
        Tokens(request).add_whole(response)
        return response
