"""A tool loop of so many turns that nobody listens to: what `instructions` counts.

``python -m benchmarks.streams.turns memory 100`` or ``… stored 100``. Nothing of it depends on the time or on chance:
the same code takes the same number of instructions each time, or nearly so.
"""

import gc
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import anyio

from stagepost.agents import Agent, Budget, FunctionModel, ModelRequest, ModelResponse, ToolCall, tool
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import Runner

_ANSWER: Final = "Oslo is there, and it is fine. "
_FREE: Final = Budget(turns=None, tool_calls=None)


@tool(idempotent=True)
async def look(city: str) -> str:
    """Look at a city."""
    return _ANSWER + city


def looping(turns: int) -> Agent[str]:
    """An agent that calls its tool on each turn but the last."""

    def answer(request: ModelRequest) -> ModelResponse:
        if request.answers >= turns - 1:
            return ModelResponse("done")
        made = ToolCall(id=f"c{request.answers}", name="look", arguments='{"city":"Oslo"}')
        return ModelResponse(calls=[made])

    return Agent("looker", prompt="Look.", model=FunctionModel(answer), tools=[look], budget=_FREE)


async def in_memory(turns: int) -> None:
    """In memory."""
    await looping(turns).run("go")


async def stored(turns: int) -> None:
    """On a runner. The store has no thread of its own: how threads wake each other is left to chance."""
    agent = looping(turns)
    loop = agent.as_workflow()
    async with MemoryStore() as store, Runner(store, workflows=[agent], clock=lambda: 1_000_000.0) as runner:
        run = await runner.start(loop, loop.accept("go"), run_id="r")
        await run.result()


WAYS: Final[Mapping[str, Callable[[int], Awaitable[None]]]] = {"memory": in_memory, "stored": stored}


def main() -> None:
    """Run it."""
    way, turns = sys.argv[1:]
    gc.disable()  # one collection more or less is as much as the turns of the loop
    anyio.run(WAYS[way], int(turns))


if __name__ == "__main__":
    main()
