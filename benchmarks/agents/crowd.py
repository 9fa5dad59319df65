"""Many clients at once: how much longer they wait than the model takes."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from statistics import quantiles
from time import perf_counter, process_time
from typing import Final, TypeAlias

import anyio
from benchmarks.agents.measure import Figures, frozen, times

Ask: TypeAlias = Callable[[str], Awaitable[object]]
"""One request of a client, who is named; the same client asks again in the same conversation."""
Serving: TypeAlias = Callable[[float], AbstractAsyncContextManager[Ask]]
"""What serves requests, with a model that takes that many seconds for a turn."""

TURNS: Final = 2  # of the model, for each request: a call of a tool, and the answer
_SECONDS: Final = 2.0  # that the model takes for a turn


@dataclass(frozen=True, slots=True)
class Crowd:
    """Who asks.

    Attributes:
        clients: How many.
        requests: How often each of them asks, one time after the other.
        within: Seconds that pass from the first one's coming to the last one's.
    """

    clients: int
    requests: int
    within: float = 0.0


TALKS: Final = Crowd(clients=50, requests=3)
BURST: Final = Crowd(clients=100, requests=1, within=1.0)


def late(serving: Serving, crowd: Crowd, scale: float) -> Figures:
    """Seconds that requests take longer than the model does: most of them, nearly all, and all; and processor time."""
    seconds, clients = _SECONDS * min(scale, 1), times(crowd.clients, scale)

    async def served() -> Figures:
        found: list[float] = []
        async with serving(seconds) as ask:
            await ask("the first")  # what is only loaded now does not count

            async def client(number: int) -> None:
                await anyio.sleep(crowd.within * number / clients)
                for _ in range(crowd.requests):
                    start = perf_counter()
                    await ask(f"client-{number}")
                    found.append(perf_counter() - start - TURNS * seconds)

            cpu = process_time()
            with frozen():
                async with anyio.create_task_group() as group:
                    for number in range(clients):
                        group.start_soon(client, number)
            return _figures(found, process_time() - cpu)

    return anyio.run(served)


def _figures(found: list[float], cpu: float) -> Figures:
    hundredths = quantiles([*found, *found], n=100, method="inclusive")
    return {"p50": hundredths[49], "p95": hundredths[94], "max": max(found), "cpu": cpu / len(found) / TURNS}
