"""How soon something is heard: a commit by one listener and by a thousand, and a token.

What is heard is the only thing that happens meanwhile: the run waits until it was.
"""

from statistics import median
from time import perf_counter
from typing import Final

import anyio
from benchmarks.agents.measure import Figures, frozen, times
from benchmarks.streams.stage import RUN, Gate, looping, running

from stagepost.agents import (
    Agent,
    FunctionModel,
    MessageSaid,
    ModelRequest,
    ModelResponse,
    StreamPart,
    Tasks,
    Token,
    TokenArrived,
    ToolCalled,
    ToolReturned,
)

_TIMES: Final = 300
_TURNS: Final = 20
_TOKENS: Final = 2_000
_LISTENERS: Final = 1_000
_CROWDED_TIMES: Final = 20


def one(scale: float) -> Figures:
    """Seconds from a commit until one listener has the part, and from an event until a task is awake; medians."""
    return _heard(1, times(_TIMES, scale))


def read(scale: float) -> Figures:
    """Seconds that the store takes for the read of a listener; the median."""
    number = times(_TIMES, scale)

    async def measured() -> Figures:
        agent, taken = looping(_TURNS), list[float]()
        async with running(agent) as (runner, store):
            await (await Tasks(runner).start(agent, "go", task_id=RUN)).result()
            with frozen():
                for _ in range(number):
                    start = perf_counter()
                    await store.head_with(RUN, "", "messages", after=2 * _TURNS - 2)
                    taken.append(perf_counter() - start)
        return {"ours": median(taken), "floor": await _woken(1, number)}

    return anyio.run(measured)


def many(scale: float) -> Figures:
    """Seconds from a commit until the last of 1,000 listeners has the part, and for as many tasks; medians."""
    return _heard(times(_LISTENERS, scale), times(_CROWDED_TIMES, scale))


def token(scale: float) -> Figures:
    """Seconds from a model's token until a listener has it; the median."""
    number = times(_TOKENS, scale)

    async def measured() -> Figures:
        gate, taken = Gate(1), list[float]()

        async def answer(request: ModelRequest) -> ModelResponse:
            assert request.on_token is not None  # noqa: S101  # somebody listens
            for index in range(number):
                start = perf_counter()
                request.on_token(Token(index, "word ", "text"))
                await gate.full(index + 1)
                taken.append(gate.last - start)
            return ModelResponse("word " * number)

        agent = Agent("talker", prompt="Talk.", model=FunctionModel(answer))
        async with running(agent) as (runner, _):
            tasks = Tasks(runner)
            with frozen():
                async with tasks.start_stream(agent, "go", task_id=RUN) as stream:
                    async for part in stream:
                        if isinstance(part, TokenArrived):
                            gate.come()
        return {"ours": median(taken), "floor": await _woken(1, number)}

    return anyio.run(measured)


def _heard(listeners: int, number: int) -> Figures:
    async def measured() -> Figures:
        gate, taken = Gate(listeners), list[float]()

        async def before(turn: int) -> None:
            await gate.full(2 * turn + 2)  # what was heard before, and the call
            taken.append(gate.last - store.committed_at)

        async def listen() -> None:
            async with tasks.stream(RUN) as stream:
                async for part in stream:
                    if isinstance(part, ToolCalled | ToolReturned) or _is_first(part):
                        gate.come()

        agent = looping(number + 1, asked=lambda turn: gate.full(2 * turn + 1), before=before)
        async with running(agent) as (runner, store):
            tasks = Tasks(runner)
            with frozen():
                await tasks.start(agent, "go", task_id=RUN)
                async with anyio.create_task_group() as group:
                    for _ in range(listeners):
                        group.start_soon(listen)
        return {"ours": median(taken), "floor": await _woken(listeners, number)}

    return anyio.run(measured)


def _is_first(part: StreamPart) -> bool:
    return isinstance(part, MessageSaid) and part.role == "user"


async def _woken(sleepers: int, number: int) -> float:
    """Seconds from the set of an event until the last task that waits for it is awake."""
    gate, taken, event, is_over = Gate(sleepers), list[float](), anyio.Event(), False

    async def sleep() -> None:
        while not is_over:
            gate.come()  # and waits, before anybody else has its turn
            await event.wait()

    async with anyio.create_task_group() as group:
        for _ in range(sleepers):
            group.start_soon(sleep)
        for time in range(1, number + 1):
            await gate.full(time)
            start, before, event = perf_counter(), event, anyio.Event()
            before.set()
            await gate.full(time + 1)
            taken.append(gate.last - start)
        is_over = True
        event.set()
    return median(taken)
