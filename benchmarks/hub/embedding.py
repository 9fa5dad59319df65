"""Figures of what is around messages: other threads, many agents that rest, timers."""

import asyncio  # noqa: TID251 - its way into a loop is what a portal is compared with
from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter

import anyio
from anyio import to_thread
from benchmarks.hub.sides import Ping, echo

from stagepost.hub import Hub
from stagepost.hub.testing import idle


def _timed(call: Callable[[], object], count: int) -> float:
    start = perf_counter()
    for _ in range(count):
        call()
    return (perf_counter() - start) / count


def portal_and_loop(count: int) -> tuple[float, float]:
    """Seconds for a request from another thread: by a portal, and by `asyncio.run_coroutine_threadsafe`."""

    async def measure() -> tuple[float, float]:
        async with Hub("bench") as hub:
            hub.register("echo", echo)
            loop, portal, ping = asyncio.get_running_loop(), hub.portal(), Ping(number=0)

            def by_loop() -> object:
                return asyncio.run_coroutine_threadsafe(hub.request("echo", ping), loop).result()

            def work() -> tuple[float, float]:
                by_portal = partial(portal.request, "echo", ping)
                pairs = [(_timed(by_portal, count), _timed(by_loop, count)) for _ in range(5)]
                return median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)

            return await to_thread.run_sync(work)

    return anyio.run(measure)


def delivery(agents: int, resting: int | None) -> tuple[float, float]:
    """Seconds for each delivery of a publication to agents that have all worked; and for each of them to leave."""

    async def measure() -> tuple[float, float]:
        async with Hub("bench", resting=resting) as hub:
            for number in range(agents):
                hub.register(f"agent-{number}", echo, topics=["news"])
            times = []
            for _ in range(5):
                start = perf_counter()
                await hub.publish("news", Ping(number=0))
                await idle(hub)
                times.append((perf_counter() - start) / agents)
            leaving = perf_counter()
        return median(times[2:]), (perf_counter() - leaving) / agents

    return anyio.run(measure)


def embedding(scale: float) -> list[str]:
    """The rows of the table."""
    portal, loop = portal_and_loop(max(20, int(2_000 * scale)))
    many = max(100, int(10_000 * scale))
    warm, leaving = delivery(many, None)
    few, _ = delivery(100, None)
    cold, leaving_cold = delivery(many, 1)
    return [
        f"| request by a portal, from another thread | {portal * 1e6:.0f} µs | ≤ 60 µs |",
        f"| the same ÷ `asyncio.run_coroutine_threadsafe` | {portal / loop:.2f} | |",
        f"| delivery to {many:,} agents with idle workers ÷ to 100 | {warm / few:.2f} | ≤ 1.5 |",
        f"| delivery to an agent without a worker | {cold * 1e6:.0f} µs | ≤ 60 µs |",
        f"| leaving a hub, per agent with an idle worker | {leaving * 1e6:.0f} µs | ≤ 50 µs |",
        f"| leaving a hub, per agent without one | {leaving_cold * 1e6:.0f} µs | ≤ 50 µs |",
    ]
