"""OpenAI's agents, without traces, with a model that answers at once."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from benchmarks.agents.measure import Figures, Measure, as_opened, cost, times
from benchmarks.agents.task import ANSWER, ARGUMENTS, PROMPT, REQUEST, TURNS, add, call_id, check


def _model(library: Any) -> Any:
    said = import_module("openai.types.responses")
    text = said.ResponseOutputText(text=ANSWER, type="output_text", annotations=[])
    answer = said.ResponseOutputMessage(
        id="answer", content=[text], role="assistant", status="completed", type="message"
    )
    called = [
        said.ResponseFunctionToolCall(arguments=arguments, call_id=call_id(turn), name="add", type="function_call")
        for turn, arguments in enumerate(ARGUMENTS)
    ]
    responses = [
        library.ModelResponse(output=[one], usage=library.Usage(), response_id=None) for one in (*called, answer)
    ]

    async def get_response(_self: object, **given: Any) -> Any:
        items = [] if isinstance(given["input"], str) else given["input"]
        return responses[sum(item.get("type") == "function_call" for item in items)]

    members = {"get_response": get_response, "stream_response": lambda *_: None}
    return type("Scripted", (library.Model,), members)()


def loop(scale: float) -> Figures:
    """The cost of a turn."""
    library = import_module("agents")
    library.set_tracing_disabled(disabled=True)
    tools = [library.function_tool(add)]
    agent = library.Agent(name="adder", instructions=PROMPT, model=_model(library), tools=tools)

    async def run() -> None:
        check((await library.Runner.run(agent, REQUEST)).final_output)

    return cost(as_opened(run), times(100, scale), parts=TURNS)


MEASURES: Mapping[str, Measure] = {"loop": loop}
