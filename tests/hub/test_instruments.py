"""The metrics of hubs for OpenTelemetry: what is counted, what is so now, and what ends with the block."""

from collections.abc import Iterator

import pytest
from anyio import Event, fail_after
from anyio.lowlevel import checkpoint
from tests.hub._agents import Ping, echo, fail

from stagepost.hub import AgentNotFound, HandlerFailed, Hub

pytest.importorskip("opentelemetry.sdk", reason="the extra is not installed")

from tests._readings import Collected

from stagepost.hub.otel import HubInstruments

ENDED = "stagepost.hub.message.ended"
OUTCOME = "stagepost.outcome"
HUB = "stagepost.hub.name"


@pytest.fixture
def collected() -> Iterator[Collected]:
    made = Collected()
    yield made
    made.provider.shutdown()


async def test_messages_are_counted_by_outcome_until_the_block_ends(collected: Collected) -> None:
    instruments = HubInstruments(collected.provider)
    with fail_after(5):
        async with Hub("main") as hub:
            hub.register("echo", echo)
            hub.register("fail", fail)
            await hub.request("echo", Ping())  # before the block: not counted
            async with instruments.watching(hub, every=3600):
                await hub.request("echo", Ping())
                await hub.request("echo", Ping())
                with pytest.raises(HandlerFailed):
                    await hub.request("fail", Ping())
                with pytest.raises(AgentNotFound):
                    await hub.send("nobody", Ping())
            await hub.request("echo", Ping())  # after it: not counted either
    assert collected.by(ENDED, OUTCOME) == {"handled": 2, "failed": 1, "cancelled": 0, "dead": 0}
    assert collected.by("stagepost.hub.message.refused", HUB) == {"main": 1}
    assert collected.by("stagepost.hub.observer.failed", HUB) == {"main": 0}
    assert collected.numbers("stagepost.hub.message.queued") == []


async def test_what_waits_is_read_again_and_again(collected: Collected) -> None:
    go = Event()

    async def wait(ping: Ping) -> None:
        await go.wait()

    with fail_after(5):
        async with Hub("main") as hub, HubInstruments(collected.provider).watching(hub, every=0):
            assert collected.by("stagepost.hub.message.in_flight", HUB) == {"main": 0}
            hub.register("waiter", wait)
            for _ in range(3):
                await hub.send("waiter", Ping())
            while collected.by("stagepost.hub.message.queued", HUB) != {"main": 2}:
                await checkpoint()
            assert collected.by("stagepost.hub.message.in_flight", HUB) == {"main": 3}
            assert collected.by("stagepost.hub.sender.blocked", HUB) == {"main": 0}
            go.set()


async def test_hubs_of_one_name_are_added_up(collected: Collected) -> None:
    instruments = HubInstruments(collected.provider)
    with fail_after(5):
        async with Hub() as one, Hub() as other:
            for hub in (one, other):
                hub.register("echo", echo)
            async with instruments.watching(one), instruments.watching(other):
                for hub in (one, other):
                    await hub.request("echo", Ping())
                assert collected.by("stagepost.hub.message.in_flight", HUB) == {"hub": 0}
    assert collected.by(ENDED, OUTCOME)["handled"] == 2


async def test_what_a_hub_counts_while_it_is_left_counts_if_it_is_entered_within_the_block(
    collected: Collected,
) -> None:
    hub, go = Hub(grace=0), Event()

    async def wait(ping: Ping) -> None:
        await go.wait()

    hub.register("waiter", wait)
    with fail_after(5):
        async with HubInstruments(collected.provider).watching(hub, every=3600), hub:
            await hub.send("waiter", Ping())
            await hub.send("waiter", Ping())
    lost = collected.by(ENDED, OUTCOME)
    assert lost["cancelled"] + lost["dead"] == 2


async def test_what_a_block_raises_leaves_it_as_it_is(collected: Collected) -> None:
    with fail_after(5), pytest.raises(ZeroDivisionError):  # no group of exceptions
        async with Hub() as hub, HubInstruments(collected.provider).watching(hub):
            raise ZeroDivisionError


async def test_without_a_meter_provider_nothing_is_recorded_and_nothing_fails() -> None:
    with fail_after(5):
        async with Hub() as hub, HubInstruments().watching(hub):
            hub.register("echo", echo)
            await hub.request("echo", Ping())
        assert hub.metrics().handled == 1
