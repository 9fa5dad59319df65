"""What happens to very many messages, handlers or subscriptions of one agent at once holds up nobody else."""

from collections.abc import Awaitable, Callable

import pytest
from anyio import fail_after, sleep_forever
from tests.hub._agents import Gate, Ping, until
from tests.hub._watching import LATE, watched

from stagepost.hub import Hub

QUEUED = 60_000
LEAVE: dict[str, Callable[[Hub], Awaitable[object]]] = {
    "drain": lambda hub: hub.drain(0),
    "unregister": lambda hub: hub.unregister("gate", drain=False),
}


@pytest.mark.parametrize("leave", LEAVE.values(), ids=LEAVE)
async def test_p5_the_end_of_one_agent_with_many_messages_lets_others_run(
    leave: Callable[[Hub], Awaitable[object]],
) -> None:
    with fail_after(120):
        async with Hub() as hub:
            hub.register(Gate(), mailbox=None)
            for number in range(QUEUED):
                await hub.send("gate", Ping(number))
            async with watched() as late:
                await leave(hub)
        assert late.most < LATE
        assert hub.metrics().dead == QUEUED - 1


async def test_p5_a_failed_agent_with_many_messages_leaves_in_turns() -> None:
    async def bad(ping: Ping) -> None:
        await gate.opened.wait()
        raise ValueError

    gate = Gate()
    with fail_after(120):
        async with Hub() as hub:
            hub.register("bad", bad, mailbox=None, supervision="stop")
            for number in range(QUEUED):
                await hub.send("bad", Ping(number))
            async with watched() as late:
                gate.opened.set()
                await until(lambda: hub.metrics().dead == QUEUED - 1)
            assert hub.agents == ()
            await hub.drain()
        assert late.most < LATE


async def test_p5_many_running_handlers_are_cancelled_in_turns() -> None:
    async def hang(ping: Ping) -> None:
        await sleep_forever()

    with fail_after(120):
        async with Hub() as hub:
            hub.register("hang", hang, mailbox=None, concurrency=None)
            for number in range(3_000):
                await hub.send("hang", Ping(number))
            await until(lambda: hub.metrics().agents["hang"].running == 3_000)
            async with watched() as late:
                await hub.unregister("hang", drain=False)
        assert late.most < LATE
        assert hub.metrics().cancelled == 3_000


async def test_p5_an_agent_with_many_subscriptions_leaves_in_turns() -> None:
    with fail_after(120):
        async with Hub() as hub:
            hub.register(Gate(), topics=[f"topic.{number}" for number in range(30_000)])
            async with watched() as late:
                await hub.unregister("gate")
            assert (await hub.publish("topic.1", Ping())).reached_nobody
        assert late.most < LATE
