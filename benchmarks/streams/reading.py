"""What a numbered part costs whoever listens to a long run, against a read of the store for each."""

from collections.abc import AsyncIterator
from typing import Final

import anyio
from benchmarks.agents.measure import Figures, frozen, times
from benchmarks.streams.stage import RUN, Gate, Spent, looping, running

from stagepost.agents import StreamPart, Tasks, ToolCalled

_TURNS: Final = 200
_SPAN: Final = 0.2  # of the turns, at the end, over which the cost is taken
_FEWEST: Final = 10


def part(scale: float) -> Figures:
    """Seconds of processor of the listener's thread for a numbered part at the end of 200 turns, and for a read.

    Each turn waits until the listener has its call, so the listener hears of a few parts at a time, as they come. The
    read is the one that it would need for each, were the run not followed in memory; it is made in between.
    """
    turns = max(_FEWEST, times(_TURNS, scale))
    first = 2 * turns * (1 - _SPAN)  # a turn is two messages

    async def measured() -> Figures:
        gate, listening = Gate(1), Spent()
        agent = looping(turns, before=lambda turn: gate.full(turn + 1))
        counted, all_of_it, reading = 0, 0.0, 0.0
        async with running(agent) as (runner, store):
            with frozen():
                async with Tasks(runner).start_stream(agent, "go", task_id=RUN) as stream:
                    while (told := await listening.on(_next(stream))) is not None:
                        if told.seq is not None and told.seq < first:
                            listening.seconds = 0.0
                        elif told.seq is not None:  # and not the end, with which the result is read
                            counted, all_of_it = counted + 1, listening.seconds
                            store.reading.seconds = 0.0
                            await store.head_with(RUN, "", "messages", after=told.seq)
                            reading += store.reading.seconds
                        if isinstance(told, ToolCalled):
                            gate.come()
        return {"ours": all_of_it / counted, "floor": reading / counted}

    return anyio.run(measured)


async def _next(stream: AsyncIterator[StreamPart]) -> StreamPart | None:
    return await anext(stream, None)
