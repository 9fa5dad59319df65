"""LangChain's agent, without a checkpointer, with a model that answers at once."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from benchmarks.agents.measure import Figures, Measure, as_opened, cost, times
from benchmarks.agents.task import ANSWER, ARGUMENTS, PROMPT, REQUEST, TURNS, add, call_id, check


def _model() -> Any:
    said, outputs = import_module("langchain_core.messages"), import_module("langchain_core.outputs")
    called = [{"name": "add", "args": {"a": n, "b": n + 1}, "id": call_id(n)} for n in range(len(ARGUMENTS))]
    messages = [*(said.AIMessage("", tool_calls=[one]) for one in called), said.AIMessage(ANSWER)]
    base = import_module("langchain_core.language_models.chat_models").BaseChatModel

    async def generate(_self: object, messages_: Any, *_: object, **__: object) -> Any:
        answer = messages[sum(isinstance(message, said.AIMessage) for message in messages_)]
        return outputs.ChatResult(generations=[outputs.ChatGeneration(message=answer.model_copy())])

    members = {
        "_agenerate": generate,
        "_generate": lambda *_: None,
        "_llm_type": property(lambda _: "scripted"),
        "bind_tools": lambda self, *_, **__: self,
        "__module__": __name__,
    }
    return type("Scripted", (base,), members)()


def loop(scale: float) -> Figures:
    """The cost of a turn."""
    agent = import_module("langchain.agents").create_agent(_model(), [add], system_prompt=PROMPT)

    async def run() -> None:
        check((await agent.ainvoke({"messages": [{"role": "user", "content": REQUEST}]}))["messages"][-1].text)

    return cost(as_opened(run), times(100, scale), parts=TURNS)


MEASURES: Mapping[str, Measure] = {"loop": loop}
