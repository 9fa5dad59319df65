"""Figures of what is no message: registering, memory, and what an idle hub costs."""

import gc
import tracemalloc
from collections.abc import Awaitable, Callable, Sequence
from statistics import median
from time import perf_counter, process_time
from types import CodeType, FunctionType

import anyio
from benchmarks.hub.embedding import embedding
from benchmarks.hub.scenarios import SCENARIOS, Note, ratio, take_turns
from benchmarks.hub.sides import Ping, echo, open_hub, open_hub_with_filtered_log
from benchmarks.hub.streaming import streaming

from stagepost.hub import Hub
from stagepost.hub.testing import idle


def registering(count: int, handlers: Sequence[Callable[[Ping], Awaitable[object]]]) -> float:
    """Seconds to register one agent; its handler is taken from those given, in turn."""
    hub = Hub("bench")
    gc.collect()
    start = perf_counter()
    for number in range(count):
        hub.register(f"agent-{number}", handlers[number % len(handlers)])
    return (perf_counter() - start) / count


def fresh_handlers(count: int) -> Sequence[Callable[[Ping], Awaitable[object]]]:
    """Handlers that no hub has ever seen: functions with code objects of their own."""
    code: CodeType = echo.__code__
    made = [FunctionType(code.replace(), globals(), f"echo_{number}") for number in range(count)]
    for function in made:
        function.__annotations__ = dict(echo.__annotations__)
    return made


def memory_of_an_agent(count: int) -> tuple[float, float]:
    """Bytes that an agent takes, its id included: before its first message, and when it rests after it."""

    def traced() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    async def measure() -> tuple[float, float]:
        async with Hub("bench") as hub:
            before = traced()
            for number in range(count):
                hub.register(f"agent-{number}", echo)
            registered = traced()
            for agent in hub.agents:
                await hub.send(agent, Ping(number=0))
            await idle(hub)
            return (registered - before) / count, (traced() - before) / count

    tracemalloc.start()
    try:
        return anyio.run(measure)
    finally:
        tracemalloc.stop()


def idle_share(agents: int, period: float) -> float:
    """The share of a core that a hub takes whose agents have all handled a message and wait for the next one."""

    async def measure() -> float:
        async with Hub("bench") as hub:
            for number in range(agents):
                hub.register(f"agent-{number}", echo)
                await hub.send(f"agent-{number}", Ping(number=number))
            await idle(hub)
            before = process_time()
            await anyio.sleep(period)
            return (process_time() - before) / period

    return anyio.run(measure)


def figures(rounds: int, scale: float, note: Note) -> list[str]:
    """The rows of the table of everything else."""
    agents = max(100, int(10_000 * scale))
    seen = median(registering(agents, [echo]) for _ in range(rounds))
    new = median(registering(agents, fresh_handlers(agents)) for _ in range(rounds))
    many = median(registering(10 * agents, [echo]) for _ in range(3))
    note()
    log = ratio(take_turns([open_hub, open_hub_with_filtered_log], SCENARIOS[0], rounds, scale, note), 1, 0)
    registered, rested = memory_of_an_agent(agents)
    share = idle_share(agents, max(0.1, 2 * min(scale, 1)))
    note()
    return [
        "| figure | measured | wanted |",
        "|---|--:|--:|",
        f"| registering an agent, handler seen before | {seen * 1e6:.1f} µs | ≤ 5 µs |",
        f"| registering an agent, handler new | {new * 1e6:.1f} µs | ≤ 30 µs |",
        f"| time per agent with {10 * agents:,} ÷ with {agents:,} | {many / seen:.2f} | 1: linear |",
        f"| memory of an agent before its first message | {registered / 1024:.2f} KB | ≤ 2 KB |",
        f"| memory of an agent that rests after it, on average of {agents:,} | {rested / 1024:.2f} KB | ≤ 2 KB |",
        f"| idle hub with {agents:,} agents that have all worked | {share:.2%} of a core | < 1 % |",
        f"| one way with a `LogObserver` that filters all ÷ without | {log:.2f} | ≤ 1.1 |",
        *embedding(scale),
        *streaming(scale),
    ]
