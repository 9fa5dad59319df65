"""A million messages among a thousand agents. Run on demand: ``pytest -m soak``."""

import gc
import tracemalloc

import pytest
from anyio import create_task_group, fail_after
from tests.hub._agents import Ping, Pong

from stagepost.hub import Context, Hub
from stagepost.hub.testing import idle

AGENTS = 1_000
ROUNDS = 10


@pytest.mark.soak
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_p1_p4_a_million_messages_are_all_handled_and_leave_nothing_behind(anyio_backend: str) -> None:
    async def pass_on(ping: Ping, context: Context) -> Pong:
        if ping.number:
            await context.send(f"agent{(int(context.agent[5:]) + 7) % AGENTS}", Ping(ping.number - 1))
        return Pong(ping.number)

    async def feed(hub: Hub, first: int) -> None:
        for number in range(first, AGENTS, 10):
            await hub.send(f"agent{number}", Ping(97))
            await hub.request(f"agent{number}", Ping(0), expect=Pong)
            await hub.publish(f"news.{number}", Ping(0))

    sizes: list[int] = []
    with fail_after(600):
        async with Hub() as hub:
            for number in range(AGENTS):
                hub.register(f"agent{number}", pass_on, topics=[f"news.{number}"])
            tracemalloc.start()
            for _ in range(ROUNDS):
                async with create_task_group() as tasks:
                    for first in range(10):
                        tasks.start_soon(feed, hub, first)
                await idle(hub)
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.stop()
            metrics = hub.metrics()
    assert metrics.handled == metrics.accepted == metrics.sent == AGENTS * ROUNDS * 100
    assert metrics.in_flight == metrics.dead == 0
    assert sizes[-1] < sizes[1] * 1.2
