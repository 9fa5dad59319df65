"""Long runs: what a turn costs at the end of one, and how much of what was said its model is asked with."""

from collections.abc import Awaitable, Callable
from itertools import pairwise
from statistics import median
from time import process_time
from typing import Final

import anyio
from benchmarks.agents.measure import Figures, frozen, times

from stagepost.agents import Agent, Budget, ContextPolicy, ModelRequest, ModelResponse, ToolCall, Usage, tool

LIMIT: Final = 4_000  # tokens of a prompt

_TURNS: Final = 10_000
_FEWEST: Final = 40  # that have a beginning and an end
_EARLY: Final = 0.1  # of the turns: at the thousandth
_SPAN: Final = 0.05  # of the turns, over which a cost is taken
_RESULT: Final = "It is 3 degrees in Oslo, with wind from the west. " * 4
_FREE: Final = Budget(turns=None, tool_calls=None)

Running = Callable[[Agent[str]], Awaitable[object]]


@tool(idempotent=True)
async def look(day: int) -> str:
    """Weather of a day."""
    return f"Day {day}: {_RESULT}"


class Watched:
    """A model that calls a tool on each turn, and notes when it is asked and with how much.

    Args:
        turns: After how many it answers.

    Attributes:
        at: Seconds of processor time at each question.
        most: The most tokens of a prompt.
    """

    def __init__(self, turns: int) -> None:
        self.at: list[float] = []
        self.most = 0
        self._turns = turns

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """The next call, or the answer."""
        self.at.append(process_time())
        read = sum(len(message.text) for message in request.messages) // 4 + 20 * len(request.messages)
        self.most = max(self.most, read)
        number = len(self.at)
        usage = Usage(input_tokens=read, output_tokens=20)
        if number >= self._turns:
            return ModelResponse("done", usage=usage)
        made = ToolCall(id=f"c{number}", name="look", arguments=f'{{"day":{number}}}')
        return ModelResponse(calls=[made], usage=usage)


def long_run(running: Running, scale: float) -> Figures:
    """Seconds of processor for a turn, at the thousandth and at the end, and the largest prompt by its limit."""
    model = Watched(max(_FEWEST, times(_TURNS, scale)))
    policy = ContextPolicy(limit=LIMIT)
    agent = Agent("watcher", prompt="Watch the weather.", model=model, tools=[look], budget=_FREE, context=policy)

    async def run() -> None:
        with frozen():
            await running(agent)

    anyio.run(run)
    early, late = _cost(model.at, _EARLY), _cost(model.at, 1 - _SPAN)
    return {"early": early, "late": late, "growth": late / early, "prompt": model.most / LIMIT}


def _cost(at: list[float], where: float) -> float:
    """The cost of a turn from there on: the median, as the collector of garbage runs now and then."""
    start, span = int(len(at) * where), max(2, int(len(at) * _SPAN))
    return median(after - before for before, after in pairwise(at[start : start + span]))
