"""Idle workers are kept for some agents only; the others lose nothing but memory."""

import pytest
from anyio import Event as Flag
from anyio import fail_after, get_running_tasks
from tests.hub._agents import Gate, Ping, Pong, echo, until

from stagepost.hub import Hub, Priority, handles
from stagepost.hub._mailbox import Dormant
from stagepost.hub._warm import Warm
from stagepost.hub.testing import idle


def workers() -> int:
    return sum((task.name or "").startswith("stagepost agent") for task in get_running_tasks())


async def test_workers_of_agents_that_rest_end_once_there_are_too_many() -> None:
    with fail_after(20):
        async with Hub(resting=10) as hub:
            for number in range(200):
                hub.register(f"a{number}", echo)
                assert await hub.request(f"a{number}", Ping(number)) == Pong(number)
            await until(lambda: workers() <= 13)
            for number in range(200):
                assert await hub.request(f"a{number}", Ping(number)) == Pong(number)
            await until(lambda: workers() <= 13)
            metrics = hub.metrics()
            assert (metrics.handled, metrics.agents["a0"].handled) == (400, 2)


async def test_an_agent_that_works_keeps_its_worker() -> None:
    with fail_after(20):
        async with Hub(resting=4) as hub:
            hub.register("busy", echo)
            for number in range(100):
                hub.register(f"a{number}", echo)
                await hub.send(f"a{number}", Ping())
                await hub.request("busy", Ping())
                busy = [task.name for task in get_running_tasks() if task.name == "stagepost agent busy"]
                assert len(busy) == 1
            endpoint = hub._directory.agents["busy"].endpoint
            assert endpoint is not None
            (worker,) = endpoint.workers.staff
            await hub.request("busy", Ping())
            assert set(endpoint.workers.staff) == {worker}


@pytest.mark.parametrize("priority", [Priority.NORMAL, Priority.HIGH])
async def test_a_message_that_comes_as_the_worker_is_to_end_is_handled(priority: Priority) -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            await hub.request("echo", Ping())
            endpoint = hub._directory.agents["echo"].endpoint
            assert endpoint is not None
            await until(lambda: len(endpoint.workers.resting) == 1)
            assert not endpoint.workers.cool()
            assert endpoint.workers.cool()
            assert isinstance(endpoint.workers.mailbox.queue, Dormant)
            assert (list(endpoint.workers.mailbox.queue), endpoint.depth) == ([], 0)
            await hub.send("echo", Ping(), priority=priority)
            await idle(hub)
            assert hub.metrics().handled == 2
            assert len(endpoint.workers.staff) == 1


async def test_several_workers_of_an_agent_rest_and_end_together() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, concurrency=3)
            for number in range(3):
                await hub.send("gate", Ping(number))
            endpoint = hub._directory.agents["gate"].endpoint
            assert endpoint is not None
            await until(lambda: len(gate.seen) == 3)
            assert not endpoint.workers.cool()
            assert not endpoint.workers.cool()
            gate.opened.set()
            await until(lambda: len(endpoint.workers.resting) == 3)
            assert endpoint.workers.cool()
            await until(lambda: not endpoint.workers.staff)
            assert endpoint.workers.cool()
            for number in range(3):
                await hub.send("gate", Ping(number))
            await idle(hub)
    assert hub.metrics().handled == 6


async def test_an_instance_outlives_its_workers() -> None:
    class Counter:
        id = "counter"
        made = 0

        def __init__(self) -> None:
            Counter.made += 1
            self.count = 0

        @handles
        async def add(self, ping: Ping) -> int:
            self.count += ping.number
            return self.count

    with fail_after(5):
        async with Hub() as hub:
            hub.register(Counter)
            assert await hub.request("counter", Ping(2)) == 2
            endpoint = hub._directory.agents["counter"].endpoint
            assert endpoint is not None
            await until(endpoint.workers.cool)
            await until(lambda: not endpoint.workers.staff)
            assert await hub.request("counter", Ping(3)) == 5
    assert Counter.made == 1


async def test_what_waits_for_an_instance_is_not_forgotten() -> None:
    ready = Flag()

    class Slow:
        id = "slow"

        async def on_start(self) -> None:
            await ready.wait()

        @handles
        async def take(self, ping: Ping) -> Pong:
            return Pong(ping.number)

    with fail_after(5):
        async with Hub() as hub:
            hub.register(Slow)
            await hub.send("slow", Ping(1))
            endpoint = hub._directory.agents["slow"].endpoint
            assert endpoint is not None
            assert endpoint.workers.cool()
            assert endpoint.depth == 1
            ready.set()
            assert await hub.request("slow", Ping(2)) == Pong(2)
    assert hub.metrics().handled == 2


async def test_an_agent_that_rests_leaves_as_others_do() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            await hub.request("echo", Ping())
            endpoint = hub._directory.agents["echo"].endpoint
            assert endpoint is not None
            await until(endpoint.workers.cool)
            await hub.unregister("echo")
            assert hub.agents == ()


def test_the_limit_is_exceeded_by_a_quarter_at_most_by_those_that_may_go() -> None:
    class Crew:
        asked = False

        def cool(self) -> bool:
            was_asked, self.asked = self.asked, True
            return was_asked

    warm = Warm(100)
    sizes = []
    for _ in range(2000):
        warm.admit(Crew())
        sizes.append(len(warm._agents))
    assert max(sizes) <= 126
    assert sizes[-1] <= 103


async def test_instances_for_keys_that_rest_keep_the_counts_of_their_agent() -> None:
    with fail_after(20):
        async with Hub(resting=4) as hub:
            hub.register("echo", echo, per=lambda ping: ping.number)
            for number in range(60):
                await hub.request("echo", Ping(number % 30))
            await until(lambda: workers() <= 6)
            metrics = hub.metrics().agents["echo"]
            assert (metrics.handled, metrics.handling.count, metrics.instances) == (60, 60, 30)
