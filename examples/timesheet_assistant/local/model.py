"""A model that follows rules: it sees what a provider's model would see, and remembers nothing."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import anyio

from stagepost.agents import ModelRequest, ModelResponse, ToolCall, UserMessage

Rule: TypeAlias = Callable[[Mapping[str, Any], ModelRequest], ToolCall | Sequence[ToolCall]]
"""What to say to a question, which is JSON: a call, or several."""


class LocalModel:
    """Answers by a rule.

    Args:
        rule: The rule.
        pace: Seconds that it thinks, or a function that says so.
        is_down: Whether it fails.
    """

    def __init__(
        self, rule: Rule, *, pace: Callable[[], float] = lambda: 0.0, is_down: Callable[[], bool] = lambda: False
    ) -> None:
        self._rule = rule
        self._pace = pace
        self._is_down = is_down

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Say something.

        Raises:
            ConnectionError: It is to fail.
        """
        await anyio.sleep(self._pace())
        if self._is_down():
            raise ConnectionError("the local model was switched off")
        question = next(message.text for message in request.messages if isinstance(message, UserMessage))
        said = self._rule(json.loads(question), request)
        calls = [said] if isinstance(said, ToolCall) else list(said)
        return ModelResponse(
            calls=[each.model_copy(update={"id": f"call-{request.answers}-{n}"}) for n, each in enumerate(calls)]
        )
