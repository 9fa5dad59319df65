"""pydantic-ai: an agent with a model that answers at once; its `FunctionModel` would count tokens, too."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from benchmarks.agents.measure import Figures, Measure, as_opened, cost, times
from benchmarks.agents.task import ANSWER, ARGUMENTS, PROMPT, REQUEST, TURNS, add, call_id, check


def _model() -> Any:
    said = import_module("pydantic_ai.messages")
    called = [said.ToolCallPart("add", text, call_id(turn)) for turn, text in enumerate(ARGUMENTS)]
    responses = [said.ModelResponse([part]) for part in (*called, said.TextPart(ANSWER))]

    async def request(_self: object, messages: Any, *_: object) -> Any:
        return responses[sum(isinstance(message, said.ModelResponse) for message in messages)]

    names = {"model_name": property(lambda _: "scripted"), "system": property(lambda _: "scripted")}
    return type("Scripted", (import_module("pydantic_ai.models").Model,), {"request": request, **names})()


def loop(scale: float) -> Figures:
    """The cost of a turn."""
    agent = import_module("pydantic_ai").Agent(_model(), instructions=PROMPT, tools=[add])

    async def run() -> None:
        check((await agent.run(REQUEST)).output)

    return cost(as_opened(run), times(100, scale), parts=TURNS)


MEASURES: Mapping[str, Measure] = {"loop": loop}
