"""The bridge, on lines and circles of hubs."""

from contextlib import AsyncExitStack

import pytest
from anyio import fail_after
from hub_bridge import HOPS, Bridge
from hub_bridge.__main__ import main

from stagepost.hub import Hub, Message, Priority
from stagepost.hub.testing import idle


class Ear:
    """Hears strings on a hub."""

    def __init__(self, hub: Hub) -> None:
        self.heard: list[Message[str]] = []
        hub.register("ear", self.hear, topics=[">"])

    async def hear(self, message: Message[str]) -> None:
        self.heard.append(message)

    @property
    def words(self) -> list[str]:
        return [message.data for message in self.heard]


async def all_idle(hubs: list[Hub]) -> None:
    """Until nothing is under way on any of them, nor brought by a bridge from one to the other meanwhile."""
    with fail_after(10):
        while any(hub.metrics().in_flight for hub in hubs):
            for hub in hubs:
                await idle(hub)


async def enter(stack: AsyncExitStack, count: int) -> list[Hub]:
    return [await stack.enter_async_context(Hub(f"hub-{number}")) for number in range(count)]


async def test_what_is_published_on_one_hub_is_heard_on_the_other() -> None:
    async with AsyncExitStack() as stack:
        hubs = await enter(stack, 2)
        ears = [Ear(hub) for hub in hubs]
        Bridge("bridge", hubs)
        await hubs[0].publish("news", "there")
        await hubs[1].publish("news", "back")
        await all_idle(hubs)
    assert [sorted(ear.words) for ear in ears] == [["back", "there"], ["back", "there"]]


async def test_it_keeps_topic_priority_trace_and_headers() -> None:
    async with AsyncExitStack() as stack:
        hubs = await enter(stack, 2)
        ear = Ear(hubs[1])
        Bridge("bridge", hubs)
        await hubs[0].publish("a.b", "x", priority=Priority.HIGH, trace="trace-1", headers={"tenant": "7"})
        await all_idle(hubs)
    (message,) = ear.heard
    assert (message.topic, message.priority, message.trace) == ("a.b", Priority.HIGH, "trace-1")
    assert (message.sender, message.headers["tenant"]) == ("bridge", "7")


async def test_it_names_the_original_as_the_cause() -> None:
    async with AsyncExitStack() as stack:
        hubs = await enter(stack, 3)
        ears = [Ear(hub) for hub in hubs]
        Bridge("first", hubs[:2])
        Bridge("second", hubs[1:])
        await hubs[0].publish("a.b", "x")
        await all_idle(hubs)
    (near,), (middle,), (far,) = (ear.heard for ear in ears)
    assert near.cause is None
    assert {middle.trace, far.trace} == {near.trace}
    assert middle.cause is not None
    assert far.cause is not None
    assert len({middle.cause, far.cause, None}) == 3


@pytest.mark.parametrize("size", [2, 3, 5])
async def test_a_circle_of_bridges_carries_nothing_for_ever(size: int) -> None:
    async with AsyncExitStack() as stack:
        hubs = await enter(stack, size)
        ears = [Ear(hub) for hub in hubs]
        for number in range(size):
            Bridge(f"bridge-{number}", [hubs[number], hubs[(number + 1) % size]])
        await hubs[0].publish("news", "x")
        await all_idle(hubs)
    assert all(1 <= len(ear.heard) <= 2 for ear in ears)
    for ear in ears:
        for message in ear.heard:
            visited = message.headers.get(HOPS, "").split()
            assert len(visited) == len(set(visited))


async def test_it_carries_only_its_topics_and_no_messages_to_itself() -> None:
    async with AsyncExitStack() as stack:
        hubs = await enter(stack, 2)
        ear = Ear(hubs[1])
        Bridge("bridge", hubs, topics=["orders.>"])
        await hubs[0].publish("doors.front", "ring")
        await hubs[0].send("bridge", "for nobody else")
        await all_idle(hubs)
    assert ear.words == []


async def test_a_hub_that_was_left_is_nobody_to_carry_to() -> None:
    async with Hub("stays") as stays:
        async with Hub("leaves") as leaves:
            Bridge("bridge", [stays, leaves])
        await stays.publish("news", "x")
        await all_idle([stays])
        assert stays.metrics().failed == 0


async def test_hubs_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two have the same"):
        Bridge("bridge", [Hub("main"), Hub("main")])


async def test_the_example_rings_upstairs(capsys: pytest.CaptureFixture[str]) -> None:
    await main()
    assert capsys.readouterr().out == "upstairs: front door, by way of stairs\n"
