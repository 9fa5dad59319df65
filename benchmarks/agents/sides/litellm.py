"""litellm as it is, to see what `LiteLLM` adds: the same arguments, and nothing around the call."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module

from benchmarks.agents.measure import Figures, Measure, Task, cost, times
from benchmarks.agents.provider import MODEL, provider
from benchmarks.agents.task import SPOKEN, add

from stagepost.agents import tool


def call(scale: float) -> Figures:
    """The cost of a model's answer."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would ask the network for prices
    library = import_module("litellm")
    schema = tool(add).schema
    function = {"name": schema.name, "description": schema.description, "parameters": schema.parameters}

    @asynccontextmanager
    async def opened() -> AsyncIterator[Task]:
        with provider() as url:
            yield partial(
                library.acompletion,
                f"openai/{MODEL}",
                list(SPOKEN),
                api_base=url,
                api_key="none",
                tools=[{"type": "function", "function": function}],
                max_retries=0,
                user="0",
            )
            await library.close_litellm_async_clients()

    return cost(opened, times(200, scale))


MEASURES: Mapping[str, Measure] = {"call": call}
