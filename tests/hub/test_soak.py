"""A million messages, among a thousand agents, and through groups and a bridge. Run on demand: ``pytest -m soak``."""

import gc
import tracemalloc
from collections import Counter

import pytest
from anyio import create_task_group, fail_after
from tests.hub._agents import Ping, Pong

from stagepost.hub import Bridge, Context, Hub
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


MEMBERS = 50
PUBLISHED = 30_000
ASKED = 10_000


async def quiet(*hubs: Hub) -> None:
    while any(hub.metrics().in_flight for hub in hubs):
        for hub in hubs:
            await idle(hub)


async def feed(hub: Hub, other: Hub) -> None:
    for number in range(PUBLISHED):
        assert (await hub.publish(f"jobs.{number % 2000}", Ping(number))).complete
        if number % 100 == 0:
            await quiet(hub, other)


async def ask(hub: Hub) -> None:
    for number in range(ASKED):
        assert await hub.request("echo", Ping(number)) == Pong(number)


@pytest.mark.soak
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_p1_p4_a_million_messages_through_groups_and_a_bridge_leave_nothing_behind(anyio_backend: str) -> None:
    shares = {"a": Counter[str](), "b": Counter[str]()}

    async def work(ping: Ping, context: Context) -> Pong:
        shares[context.hub.name][context.agent] += 1
        return Pong(ping.number)

    sizes: list[int] = []
    with fail_after(3600):
        async with Hub("a") as a, Hub("b") as b:
            for hub in (a, b):
                for number in range(MEMBERS):
                    hub.register(f"worker-{number}", work, topics="jobs.>", group="workers")
            b.register("echo", work)
            Bridge(a, b, topics="jobs.>", map=["echo@b"], mailbox=None)
            tracemalloc.start()
            for _ in range(ROUNDS):
                async with create_task_group() as tasks:
                    tasks.start_soon(feed, a, b)
                    tasks.start_soon(ask, a)
                await quiet(a, b)
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.stop()
            metrics = [a.metrics(), b.metrics()]
    published, asked = PUBLISHED * ROUNDS, ASKED * ROUNDS
    assert [each.dead + each.failed + each.in_flight for each in metrics] == [0, 0]
    assert [each.handled for each in metrics] == [2 * published + 2 * asked, published + asked]
    for share in shares.values():
        counts = [count for agent, count in share.items() if agent != "echo"]
        assert sum(counts) == published
        assert min(counts) > published / MEMBERS / 2
    assert sizes[-1] < sizes[1] * 1.2


@pytest.mark.soak
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_p1_p4_a_million_deliveries_of_shared_publications_leave_nothing_behind(anyio_backend: str) -> None:
    heard = Counter[str]()

    async def hear(ping: Ping) -> None:
        heard["plain"] += 1

    async def answer(ping: Ping) -> None:
        heard["asking"] += 1
        if ping.number % 10 == 0:
            await hub.send("sink", Pong(ping.number))

    async def sink(pong: Pong) -> None:
        heard["sink"] += 1

    sizes: list[int] = []
    with fail_after(600):
        async with Hub() as hub:
            hub.register("sink", sink)
            for number in range(99):
                hub.register(f"plain-{number}", hear, topics="news.>")
            hub.register("asking", answer, topics="news.>")
            tracemalloc.start()
            for _ in range(ROUNDS):
                for number in range(1_000):
                    assert (await hub.publish(f"news.{number}", Ping(number), timeout=None)).complete
                await idle(hub)
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.stop()
            metrics = hub.metrics()
    assert heard == {"plain": 990_000, "asking": 10_000, "sink": 1_000}
    assert metrics.handled == metrics.accepted == metrics.sent == 1_001_000
    assert metrics.in_flight == metrics.dead == 0
    assert sizes[-1] < sizes[1] * 1.2
