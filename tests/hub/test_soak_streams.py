"""A million parts of replies, and messages for thousands of keys. Run on demand: ``pytest -m soak``."""

import gc
import tracemalloc
from collections.abc import AsyncIterator

import pytest
from anyio import create_task_group, fail_after
from tests.hub._agents import Ping, Pong

from stagepost.hub import Hub, handles
from stagepost.hub.testing import idle

ROUNDS = 10
READERS = 100
PARTS = 500
KEYS = 2_000


async def count(ping: Ping) -> AsyncIterator[int]:
    for part in range(ping.number):
        yield part


class Counter:
    """One of the instances."""

    @handles
    async def add(self, ping: Ping) -> Pong:
        return Pong(ping.number)


async def read(hub: Hub, reader: int) -> None:
    for part in range(2):
        async for number in hub.stream(f"source{reader % 10}", Ping(PARTS), expect=int, timeout=None):
            if part and number == PARTS // 2:
                break
    for number in range(PARTS // 2):
        await hub.request("counters", Ping(reader * PARTS + number), expect=Pong)


@pytest.mark.soak
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_p1_p4_a_million_parts_and_messages_for_keys_leave_nothing_behind(anyio_backend: str) -> None:
    """Readers read streams to the end or leave them; instances are made and end all the time."""

    sizes: list[int] = []
    with fail_after(900):
        async with Hub() as hub:
            for number in range(10):
                hub.register(f"source{number}", count, concurrency=None)
            hub.register("counters", Counter, per=lambda ping: ping.number % KEYS, instances=KEYS // 4, idle=0.5)
            tracemalloc.start()
            for _ in range(ROUNDS):
                async with create_task_group() as tasks:
                    for reader in range(READERS):
                        tasks.start_soon(read, hub, reader)
                await idle(hub)
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.stop()
            metrics = hub.metrics()
    assert metrics.parts + metrics.accepted >= ROUNDS * READERS * PARTS * 1.9
    assert metrics.in_flight == metrics.dead == metrics.failed == 0
    assert metrics.cancelled == ROUNDS * READERS
    assert (metrics.agents["counters"].instances or 0) <= KEYS // 2
    assert sizes[-1] < sizes[1] * 1.2
