"""What a hub tells about itself: metrics, topology, what it left undone."""

import time

import pytest
from anyio import create_task_group, fail_after, sleep
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, Relay, echo, error_of, fail, until

from stagepost.hub import (
    Context,
    Event,
    HandlerFailed,
    Hub,
    HubStopped,
    Latency,
    RequestTimeout,
    Restart,
    StopReport,
    handles,
)
from stagepost.hub.testing import idle


async def test_metrics_count_and_show_how_things_stand() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub(grace=0) as hub:
            assert Hub().metrics().depth == 0
            hub.register("echo", echo)
            hub.register("fail", fail)
            hub.register(gate, mailbox=2)
            await hub.request("echo", Ping())
            with pytest.raises(HandlerFailed):
                await hub.request("fail", Ping())
            for number in range(3):
                await hub.send("gate", Ping(number))
                await gate.entered.wait()
            metrics = hub.metrics()
    assert (len(metrics.agents), metrics.sent, metrics.delivered, metrics.handled, metrics.failed) == (3, 5, 5, 1, 1)
    assert (metrics.depth, dict(metrics.depths), metrics.in_flight, metrics.blocked) == (2, {"gate": 2}, 3, 0)
    assert metrics.latency.count == 2
    assert 0 < metrics.latency.p50 <= metrics.latency.p95 <= metrics.latency.p99 < 5


def test_a_latency_is_right_to_a_factor_of_two() -> None:
    buckets = [0] * 64
    for micros in (3, 3, 3, 1000):
        buckets[micros.bit_length()] += 1
    latency = Latency(count=4, buckets=tuple(buckets))
    assert latency.p50 == 4e-6
    assert latency.p99 == 1024e-6
    assert Latency().p50 == 0


class Crossing(Relay):
    """Passes on what it gets when all of its kind have got something, so that none sees the others' request come."""

    def __init__(self, agent: str, target: str, arrived: set[str]) -> None:
        super().__init__(agent, target)
        self.arrived = arrived

    @handles
    async def pass_on(self, ping: Ping, context: Context) -> Pong:
        self.arrived.add(self.id)
        await until(lambda: len(self.arrived) == 2)
        return await super().pass_on(ping, context)


async def test_metrics_name_those_who_wait_for_each_other() -> None:
    arrived = set[str]()

    async def ask(hub: Hub, agent: str) -> None:
        await hub.request(agent, Ping(), timeout=60)

    with fail_after(10):
        async with Hub() as hub:
            hub.register(Crossing("a", "b", arrived))
            hub.register(Crossing("b", "a", arrived))
            async with create_task_group() as tasks:
                for agent in ("a", "b"):
                    tasks.start_soon(ask, hub, agent)
                await until(lambda: len(hub.metrics().waiting) == 2)
                assert set(hub.metrics().waiting) == {("a", "b"), ("b", "a")}
                tasks.cancel_scope.cancel()


async def test_requests_that_cross_end_by_their_deadline() -> None:
    errors, arrived = list[RequestTimeout](), set[str]()

    async def ask(hub: Hub, agent: str) -> None:
        await hub.request(agent, Ping(), timeout=0.2)

    with fail_after(10):
        async with Hub() as hub:
            hub.register(Crossing("a", "b", arrived))
            hub.register(Crossing("b", "a", arrived))
            async with create_task_group() as tasks:
                for agent in ("a", "b"):
                    tasks.start_soon(error_of, RequestTimeout, lambda agent=agent: ask(hub, agent), errors)
    assert len(errors) == 2


def test_a_description_shows_agents_and_subscriptions() -> None:
    hub = Hub("main")
    hub.register("echo", echo, topics=["orders.>", "a"], concurrency=None, mailbox=5)
    hub.register("gate", Gate, topics=["a"], supervision=Restart(max=1))
    topology = hub.describe()
    first, second = topology.agents
    assert (first.id, first.payloads, first.topics) == ("echo", ("Ping",), ("orders.>", "a"))
    assert (first.concurrency, first.mailbox, first.overflow, first.detach) == (None, 5, "wait", False)
    assert second.supervision == Restart(max=1)
    assert topology.mermaid().splitlines() == [
        "flowchart LR",
        '    t0{{"orders.&gt;"}}',
        '    t1{{"a"}}',
        '    a0["echo<br/>Ping"]',
        '    a1["gate<br/>Ping"]',
        "    t0 --> a0",
        "    t1 --> a0",
        "    t1 --> a1",
    ]


async def test_one_agent_on_several_hubs_sees_which_one_a_message_came_over() -> None:
    class Clerk:
        id = "clerk"

        @handles
        async def where(self, _: Ping, context: Context) -> str:
            return context.hub.name

    clerk = Clerk()
    with fail_after(5):
        async with Hub("left") as left, Hub("right") as right:
            left.register(clerk)
            right.register(clerk)
            assert await left.request("clerk", Ping(), expect=str) == "left"
            assert await right.request("clerk", Ping(), expect=str) == "right"


async def test_draining_reports_what_was_not_finished() -> None:
    gate = Gate()
    refused: list[HubStopped] = []
    with fail_after(5):
        async with Hub("main") as hub, create_task_group() as tasks:
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping(0), sender="me")
            await gate.entered.wait()
            await hub.send("gate", Ping(1))
            tasks.start_soon(error_of, HubStopped, lambda: hub.send("gate", Ping(2)), refused)
            await until(lambda: hub.metrics().blocked == 1)
            report = await hub.drain(timeout=0.02)
    assert not report.clean
    assert [(left.agent, left.stage, left.payload, left.sender) for left in report.unfinished] == [
        ("gate", "running", "Ping", "me"),
        ("gate", "queued", "Ping", None),
        ("gate", "blocked", "Ping", None),
    ]
    assert report.stuck == ()
    assert len(refused) == 1


async def test_a_clean_stop_is_reported_as_such() -> None:
    assert await Hub("main").drain() == StopReport(hub="main")
    with fail_after(5):
        async with Hub("main") as hub:
            hub.register("echo", echo)
            await hub.send("echo", Ping())
            assert (await hub.drain()).clean


async def test_a_handler_that_swallows_cancellation_cannot_hang_draining_and_is_named() -> None:
    allowed = False

    async def stubborn(ping: Ping) -> None:
        while not allowed:
            try:
                await sleep(60)
            except BaseException:  # noqa: BLE001, S112 - what this is about
                continue

    with fail_after(10):
        async with Hub() as hub:
            hub.register("stubborn", stubborn)
            hub.register("echo", echo)
            await hub.send("stubborn", Ping())
            await idle_of(hub, "stubborn")
            report = await hub.drain(timeout=0.02)
            allowed = True
    assert report.stuck == ("stubborn",)
    assert [left.agent for left in report.unfinished] == ["stubborn"]


async def idle_of(hub: Hub, agent: str) -> None:
    await until(lambda: agent not in hub.metrics().depths)
    await checkpoint()


async def test_a_handler_that_blocks_the_loop_only_delays_the_stop() -> None:
    async def block(ping: Ping) -> None:
        time.sleep(0.05)  # noqa: ASYNC251 - what this is about

    with fail_after(5):
        async with Hub() as hub:
            hub.register("block", block)
            for number in range(5):
                await hub.send("block", Ping(number))
            report = await hub.drain(timeout=0.06)
    assert report.stuck == ()
    assert hub.metrics().in_flight == 0
    assert len(report.unfinished) + hub.metrics().handled == 5


async def test_an_observer_may_call_the_hub_back() -> None:
    class Meddler:
        calls = 0

        def on_event(self, _: Event, /) -> None:
            self.calls += 1
            if self.calls < 40:
                hub.metrics()
                hub.register(f"extra{self.calls}", echo, topics=["a"])
                hub.subscribe(f"extra{self.calls}", "b")
                hub.unsubscribe(f"extra{self.calls}", "a")

    meddler = Meddler()
    with fail_after(5):
        async with Hub(observer=meddler) as hub:
            hub.register("echo", echo, topics=["a", "b"])
            for number in range(5):
                await hub.publish("a", Ping(number))
                await hub.publish("b", Ping(number))
            assert await hub.request("echo", Ping(1)) == Pong(1)
            await idle(hub)
    assert hub.metrics().observer_failures <= meddler.calls
    assert hub.metrics().in_flight == 0
