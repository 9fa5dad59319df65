"""Agents whose handlers run longer than they should, and who has messages on their way to whom."""

from datetime import timedelta

import anyio
import pytest
from tests.hub._agents import Gate, Ping, echo

from stagepost.hub import Hub, InvalidArgument, MessageType, Traffic
from stagepost.hub.testing import VirtualClock


async def test_an_agent_whose_handler_runs_long_is_stuck() -> None:
    clock, gate = VirtualClock(), Gate()
    async with Hub(clock=clock) as hub:
        hub.register(gate)
        hub.register("echo", echo)
        await hub.send("gate", Ping(1), sender="teller")
        await hub.send("gate", Ping(2))
        await gate.entered.wait()
        await clock.advance(60)
        await hub.request("echo", Ping())
        (found,) = hub.stuck(longer_than=30)
        assert (found.agent, found.seconds, found.depth) == ("gate", 60, 1)
        assert (found.type, found.payload, found.sender, found.topic) == (
            MessageType.NOTIFICATION,
            "Ping",
            "teller",
            None,
        )
        assert found.handler.endswith("pass_through")
        assert found.running_since == hub.metrics().agents["gate"].running_since
        assert hub.stuck(longer_than=60) == ()
        assert hub.stuck(longer_than=timedelta(seconds=59)) == (found,)
        gate.opened.set()
        await hub.drain()
        assert hub.stuck(longer_than=0) == ()


async def test_those_that_run_longest_come_first_each_with_its_oldest_message() -> None:
    clock, first, second = VirtualClock(), Gate("first"), Gate("second")
    async with Hub(clock=clock) as hub:
        hub.register(first, concurrency=2)
        hub.register(second, topics=["pings"])
        await hub.publish("pings", Ping(0))
        await second.entered.wait()
        await clock.advance(5)
        for number in (1, 2):
            await hub.send("first", Ping(number))
            await anyio.wait_all_tasks_blocked()
            await clock.advance(5)
        found = hub.stuck(longer_than=1)
        assert [(each.agent, each.seconds, each.topic) for each in found] == [
            ("second", 15, "pings"),
            ("first", 10, None),
        ]
        first.opened.set()
        second.opened.set()


async def test_an_agent_that_leaves_may_be_stuck() -> None:
    clock, gate = VirtualClock(), Gate()
    async with Hub(clock=clock) as hub, anyio.create_task_group() as tasks:
        hub.register(gate)
        await hub.send("gate", Ping(1))
        await gate.entered.wait()
        await clock.advance(10)
        tasks.start_soon(hub.unregister, "gate")
        await anyio.wait_all_tasks_blocked()
        assert [each.agent for each in hub.stuck(longer_than=5)] == ["gate"]
        gate.opened.set()


async def test_a_hub_that_was_not_entered_has_nobody_stuck() -> None:
    hub = Hub()
    assert hub.stuck(longer_than=0) == ()
    with pytest.raises(InvalidArgument, match="longer_than"):
        hub.stuck(longer_than=-1)


async def test_messages_on_their_way_are_counted_by_who_has_sent_them() -> None:
    gate = Gate()
    async with Hub() as hub:
        hub.register(gate, topics=["pings"], mailbox=2)
        assert hub.traffic() == ()
        await hub.send("gate", Ping(1), sender="teller")
        await gate.entered.wait()
        await hub.send("gate", Ping(2), sender="teller")
        await hub.publish("pings", Ping(3), sender="clock")
        assert hub.traffic() == (
            Traffic(sender="teller", recipient="gate", topic=None, waiting=1, running=1),
            Traffic(sender="clock", recipient="gate", topic="pings", waiting=1, running=0),
        )
        gate.opened.set()
        await hub.drain()
        assert hub.traffic() == ()
