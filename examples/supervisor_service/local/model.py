"""The model: it decides at once, and writes its answer as slowly as a provider's model would."""

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

import anyio

from stagepost.agents import Model, ModelRequest, ModelResponse, Token, ToolCall

from .desk import desk
from .supervising import supervise
from .working import knowledge, stock, weather

Thought: TypeAlias = str | Sequence[ToolCall]

_WORKERS: Final = {
    "get_weather": weather,
    "get_stock_price": stock,
    "search_knowledge": knowledge,
    "place_order": desk,
}
_WORDS: Final = re.compile(r"\S*\s*")


class LocalModel(Model):
    """Answers by rules.

    What it says depends on nothing but the request, so another process goes on with the same words.

    Args:
        thinking: Seconds before each answer.
        writing: Seconds for each word of it.
    """

    def __init__(self, *, thinking: float = 0.5, writing: float = 0.04) -> None:
        self._thinking = thinking
        self._writing = writing

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Say something, or call tools.

        Raises:
            ConnectionError: Somebody wants to see a worker fail.
        """
        await anyio.sleep(self._thinking)
        thought = think(request)
        if not isinstance(thought, str):
            calls = [
                made.model_copy(update={"id": f"call-{request.answers}-{index}"}) for index, made in enumerate(thought)
            ]
            return ModelResponse(calls=calls)
        for number, word in enumerate(_WORDS.findall(thought)[:-1]):
            if request.on_token is not None:
                request.on_token(Token(number, word))
            await anyio.sleep(self._writing)
        return ModelResponse(thought)


def think(request: ModelRequest) -> Thought:
    """What to say to a request: as a worker, if its tool is there, and else as the supervisor."""
    names = {tool.name for tool in request.tools}
    for name, worker in _WORKERS.items():
        if name in names:
            return worker(request.messages)
    return supervise(request.messages)
