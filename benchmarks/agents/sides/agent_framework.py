"""Microsoft's agent-framework: an agent, its own loop of calls, a client that answers at once."""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from benchmarks.agents.measure import Figures, Measure, as_opened, cost, times
from benchmarks.agents.task import ANSWER, ARGUMENTS, PROMPT, REQUEST, TURNS, add, call_id, check


def _client(library: Any) -> Any:
    """Its client: the layer that calls tools over one that answers, without those that trace."""
    message, content = library.Message, library.Content
    called = [content.from_function_call(call_id(turn), "add", arguments=text) for turn, text in enumerate(ARGUMENTS)]
    said = [*called, content.from_text(ANSWER)]

    async def inner(_self: object, *, messages: Any, **_: object) -> Any:
        turn = sum(one.role == "assistant" for one in messages)
        return library.ChatResponse(messages=[message("assistant", [said[turn]])])  # a new one: it adds to it

    def respond(self: object, **given: Any) -> Any:
        return inner(self, **given)

    layer = import_module("agent_framework._tools").FunctionInvocationLayer
    bases = (layer, library.BaseChatClient)
    return type("Client", bases, {"_inner_get_response": respond})()


def loop(scale: float) -> Figures:
    """The cost of a turn."""
    os.environ["ENABLE_INSTRUMENTATION"] = "false"  # read when it is imported
    library = import_module("agent_framework")
    agent = library.Agent(_client(library), PROMPT, tools=[library.tool(add, approval_mode="never_require")])

    async def run() -> None:
        check((await agent.run(REQUEST)).text)

    return cost(as_opened(run), times(300, scale), parts=TURNS)


MEASURES: Mapping[str, Measure] = {"loop": loop}
