"""What a numbered part costs whoever listens to a long run, beside what the store's reads take."""

from collections.abc import AsyncIterator
from typing import Final

import anyio
from benchmarks.agents.measure import Figures, frozen, times
from benchmarks.streams.stage import RUN, Spent, looping, running

from stagepost.agents import StreamPart, Tasks

_TURNS: Final = 200
_SPAN: Final = 0.2  # of the turns, at the end, over which the cost is taken
_FEWEST: Final = 10


def part(scale: float) -> Figures:
    """Seconds of processor of the listener's thread for a numbered part at the end of a run of 200 turns."""
    turns = max(_FEWEST, times(_TURNS, scale))
    agent = looping(turns)
    listening, counted = Spent(), 0

    async def listened() -> Figures:
        nonlocal counted
        async with running(agent) as (runner, store):
            tasks = Tasks(runner)
            await tasks.start(agent, "go", task_id=RUN)
            async with tasks.stream(RUN) as stream:
                parts = aiter(stream)
                read = 0.0
                with frozen():
                    while (told := await listening.on(_next(parts))) is not None:
                        if told.seq is not None and told.seq >= 2 * turns * (1 - _SPAN):
                            counted += told.cursor is not None
                        else:
                            listening.seconds, read = 0.0, store.reading.seconds
                floor = store.reading.seconds - read
        return {"ours": (listening.seconds - floor) / counted, "floor": floor / counted}

    return anyio.run(listened)


async def _next(parts: AsyncIterator[StreamPart]) -> StreamPart | None:
    return await anext(parts, None)
