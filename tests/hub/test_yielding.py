"""Beside any loop over any coroutine of the hub other tasks get their turn, however the calls end."""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias, get_args

import pytest
from anyio import create_task_group, fail_after, move_on_after, sleep_forever
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, echo, until
from tests.hub._watching import LATE, watched

from stagepost.hub import Context, DeadReason, Delivery, Hub, HubError, HubOpened, Overflow, handles
from stagepost.hub.testing import Probe, Recorder, VirtualClock, idle

LOOP = 0.15  # seconds of processor time that a loop takes
MANY = 3_000  # agents that are published to
ENDING = 2_000  # agents that end at once: to end one costs as much as five to fifteen messages


async def keep_on(call: Callable[[], Awaitable[object]]) -> None:
    """Call again and again, whatever comes of it."""
    ends = time.thread_time() + LOOP
    while time.thread_time() < ends:
        with suppress(HubError, StopAsyncIteration, ValueError):
            await call()


Calls: TypeAlias = Callable[[Hub], Callable[[], Awaitable[object]]]

CALLS: dict[str, Calls] = {
    "send": lambda hub: lambda: hub.send("deep", Ping()),
    "send to nobody": lambda hub: lambda: hub.send("nobody", Ping()),
    "send what is not handled": lambda hub: lambda: hub.send("deep", "text"),
    "send with a priority that is none": lambda hub: lambda: hub.send("deep", Ping(), priority=9),  # type: ignore[arg-type]  # refused
    "send without waiting": lambda hub: lambda: hub.send("wait", Ping(), timeout=0),
    "send to one that rejects": lambda hub: lambda: hub.send("reject", Ping()),
    "send to one that drops": lambda hub: lambda: hub.send("drop_oldest", Ping()),
    "request": lambda hub: lambda: hub.request("echo", Ping()),
    "request nobody": lambda hub: lambda: hub.request("nobody", Ping()),
    "request without time": lambda hub: lambda: hub.request("echo", Ping(), timeout=0),
    "request one that rejects": lambda hub: lambda: hub.request("reject", Ping()),
    "request the wrong class": lambda hub: lambda: hub.request("echo", Ping(), expect=str),
    "resend what is not dead": lambda hub: lambda: hub.resend("nothing"),
    "resend what has no room": lambda hub: lambda: hub.resend(hub.dead_letters[-1], timeout=0),
    "publish": lambda hub: lambda: hub.publish("deep", Ping()),
    "publish to nobody": lambda hub: lambda: hub.publish("nothing", Ping()),
    "publish to a bad topic": lambda hub: lambda: hub.publish("a.*", Ping()),
    "publish to the full": lambda hub: lambda: hub.publish("full", Ping()),
    "publish what is not handled": lambda hub: lambda: hub.publish("deep", "text"),
    "broadcast": lambda hub: lambda: hub.broadcast(Ping()),
    "broadcast to nobody": lambda hub: lambda: hub.broadcast(7.5),
    "unregister": lambda hub: lambda: come_and_go(hub),
    "unregister nobody": lambda hub: lambda: hub.unregister("nobody"),
    "listen": lambda hub: lambda: listen(hub),
    "listen to a bad topic": lambda hub: lambda: listen(hub, "a..b"),
    "read what has ended": lambda hub: lambda: read_what_has_ended(hub),
    "enter again": lambda hub: hub.__aenter__,
}


async def listen(hub: Hub, topic: str = "a") -> None:
    async with hub.listen(topic):
        pass


async def read_what_has_ended(hub: Hub) -> None:
    async with hub.listen("a") as stream:
        pass
    await anext(stream)


async def come_and_go(hub: Hub) -> None:
    hub.register("fleeting", echo)
    await hub.unregister("fleeting")


async def crowded(hub: Hub) -> None:
    """Register an agent for each call of the table: some quick, some full."""
    hub.register("echo", echo)
    hub.register("deep", echo, mailbox=None, topics=["deep"])
    for overflow in get_args(Overflow):
        hub.register(overflow, Gate(overflow).pass_through, mailbox=1, overflow=overflow, topics=["full"])
        await hub.send(overflow, Ping())
        while overflow in hub.metrics().depths:
            await checkpoint()
        await hub.send(overflow, Ping())
    await hub.publish("full", Ping())  # of which dead letters remain


@pytest.mark.in_turns
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_p5_a_loop_over_any_call_lets_others_run(call: Calls) -> None:
    with fail_after(60):
        async with Hub(grace=0) as hub:
            await crowded(hub)
            async with watched() as late:
                await keep_on(call(hub))
    assert late.most < LATE
    assert late.turns > 10


@pytest.mark.in_turns
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_p5_a_timeout_round_a_loop_over_any_call_fires(call: Calls) -> None:
    with fail_after(60):
        async with Hub(grace=0) as hub:
            await crowded(hub)
            with move_on_after(0.02) as scope:
                while True:
                    with suppress(HubError, StopAsyncIteration, ValueError):
                        await call(hub)()
    assert scope.cancelled_caught


ACTS: dict[str, Callable[[Context], Awaitable[object]]] = {
    "send": lambda context: context.send("deep", Ping()),
    "send to nobody": lambda context: context.send("nobody", Ping()),
    "send to itself": lambda context: context.send("actor", Ping(), timeout=0),
    "send to one that drops": lambda context: context.send("drop_oldest", Ping()),
    "request nobody": lambda context: context.request("nobody", Ping()),
    "request in a circle": lambda context: context.request("actor", Ping()),
    "publish": lambda context: context.publish("deep", Ping()),
    "publish to nobody": lambda context: context.publish("nothing", Ping()),
    "broadcast to nobody": lambda context: context.broadcast(7.5),
    "forward to nobody": lambda context: context.forward("nobody"),
    "forward": lambda context: context.forward("deep"),
    "send over the hub": lambda context: context.hub.send("deep", Ping()),
    "request over the hub, in a circle": lambda context: context.hub.request("actor", Ping()),
    "drain": lambda context: context.hub.drain(timeout=0),
}


@pytest.mark.in_turns
@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
async def test_p5_a_loop_in_a_handler_lets_others_run(act: Callable[[Context], Awaitable[object]]) -> None:
    class Actor:
        id = "actor"

        @handles
        async def act(self, _: str, context: Context) -> None:
            await keep_on(lambda: act(context))

        @handles
        async def ignore(self, ping: Ping) -> None: ...

    with fail_after(60):
        async with Hub(grace=0) as hub:
            await crowded(hub)
            hub.register(Actor(), mailbox=1)
            await hub.send("actor", "go")
            async with watched() as late:
                await until(lambda: hub.metrics().handled > 0 and "actor" not in hub.metrics().depths)
                await until(
                    lambda: (
                        not any(
                            endpoint.id == "actor" and endpoint.handling() for endpoint in hub._directory.endpoints()
                        )
                    )
                )
    assert late.most < LATE
    assert late.turns > 10


async def test_p5_a_loop_over_a_hub_that_was_not_entered_lets_others_run() -> None:
    hub = Hub()
    with fail_after(60):
        for call in (lambda: hub.send("a", Ping()), lambda: hub.publish("a", Ping()), lambda: idle(hub), hub.drain):
            async with watched() as late:
                await keep_on(call)
            assert late.most < LATE


async def test_p5_a_loop_over_a_quiet_hub_lets_others_run() -> None:
    with fail_after(60):
        async with Hub() as hub:
            async with watched() as late:
                await keep_on(lambda: idle(hub))
            await hub.drain()
            async with watched() as stopped:
                await keep_on(hub.drain)
    assert max(late.most, stopped.most) < LATE


async def test_p5_time_that_stands_still_starves_nobody() -> None:
    with fail_after(60):
        async with Hub(clock=VirtualClock()) as hub:
            hub.register("deep", echo, mailbox=None)
            async with watched() as late:
                await keep_on(lambda: hub.send("deep", Ping()))
                await idle(hub)
    assert late.most < LATE


@pytest.mark.parametrize("way", ["publish", "broadcast"])
async def test_p5_one_publication_to_many_lets_others_run(way: str) -> None:
    with fail_after(60):
        async with Hub(grace=None) as hub:
            for number in range(MANY):
                hub.register(f"agent-{number}", echo, topics=["news"])
            for _ in range(2):  # the first one finds nobody started
                async with watched() as late:
                    delivery = await (hub.broadcast(Ping()) if way == "broadcast" else hub.publish("news", Ping()))
                    await idle(hub)
                assert len(delivery.delivered) == MANY
                assert late.most < LATE


async def test_p5_a_publication_to_many_full_mailboxes_lets_others_run() -> None:
    with fail_after(60):
        async with Hub(grace=0) as hub:
            for number in range(MANY):
                hub.register(gate := Gate(f"gate-{number}"), mailbox=1, topics=["full"])
            for _ in range(2):
                await hub.publish("full", Ping())
                await gate.entered.wait()
            for timeout in (0, 0.01):
                async with watched() as late:
                    delivery = await hub.publish("full", Ping(), timeout=timeout)
                assert len(delivery.full) == MANY
                assert late.most < LATE


async def test_who_comes_and_goes_while_a_publication_is_delivered_is_reported_right() -> None:
    async def shuffle(hub: Hub, stopped: set[str]) -> None:
        for number in reversed(range(MANY - 50, MANY)):
            name = f"agent-{number}"
            await hub.unregister(name)
            stopped.add(name)
            hub.register(f"new-{number}", echo, topics=["news"])

    stopped = set[str]()
    with fail_after(60):
        async with Hub(grace=None) as hub, create_task_group() as tasks:
            for number in range(MANY):
                hub.register(f"agent-{number}", echo, topics=["news"])
            tasks.start_soon(shuffle, hub, stopped)
            delivery = await hub.publish("news", Ping())
            await idle(hub)
    assert set(delivery.stopped) == stopped
    assert len(stopped) == 50
    assert len(delivery.delivered) == MANY - 50
    assert not any(name.startswith("new") for name in delivery.delivered)
    metrics = hub.metrics()
    assert (metrics.handled, metrics.dead, metrics.in_flight) == (MANY - 50, 50, 0)
    assert {letter.reason for letter in hub.dead_letters} == {DeadReason.RECIPIENT_GONE}


@pytest.mark.parametrize("sender", [None, "agent-0"], ids=["outside", "named"])
async def test_a_hub_that_stops_while_a_publication_is_delivered_ends_it(sender: str | None) -> None:
    reports = list[Delivery]()

    async def publish(hub: Hub) -> None:
        async with hub.listen("news"):
            reports.append(await hub.publish("news", Ping(), sender=sender))

    with fail_after(60):
        async with create_task_group() as tasks:
            async with Hub(grace=0) as hub:
                for number in range(MANY):
                    hub.register(f"agent-{number}", echo, topics=["news"])
                tasks.start_soon(publish, hub)
                await until(lambda: hub.metrics().accepted > 0)
            assert hub.metrics().in_flight == 0
    (report,) = reports
    assert 0 < len(report.delivered) < MANY
    assert len(report.delivered) + len(report.stopped) == MANY + 1 - (sender is not None)
    assert hub.metrics().handled + hub.metrics().dead + hub.metrics().cancelled == hub.metrics().accepted


async def test_who_does_not_handle_what_is_broadcast_is_not_missed_when_the_hub_stops() -> None:
    async def stop(hub: Hub) -> None:
        await hub.drain(timeout=0)

    with fail_after(60):
        async with Hub(grace=0) as hub, create_task_group() as tasks:
            for number in range(MANY):
                hub.register(f"agent-{number}", echo)
                hub.register(f"deaf-{number}", repeat)
            tasks.start_soon(stop, hub)
            delivery = await hub.broadcast(Ping())
    assert delivery.stopped
    assert not any(name.startswith("deaf") for name in delivery.stopped)
    assert len(delivery.delivered) + len(delivery.stopped) == MANY


async def test_p5_reading_a_long_backlog_lets_others_run() -> None:
    with fail_after(60):
        async with Hub() as hub, hub.listen("news", limit=None) as stream:
            for number in range(20_000):
                await hub.publish("news", Ping(number))
            async with watched() as late:
                numbers = [(await anext(stream)).data.number for _ in range(20_000)]
    assert numbers == list(range(20_000))
    assert late.most < LATE


async def test_p5_reading_what_a_probe_or_a_recorder_holds_lets_others_run() -> None:
    probe, recorder = Probe(), Recorder()
    with fail_after(60):
        async with Hub(observer=recorder) as hub:
            hub.register(probe, mailbox=None)
            await hub.request("probe", Ping())
            probe.messages *= 200_000
            async with watched() as late:
                await keep_on(probe.next)
                await keep_on(lambda: recorder.until(HubOpened))
    assert late.most < LATE


class Lively:
    """An agent with hooks."""

    @handles
    async def take(self, ping: Ping) -> None: ...

    async def on_start(self) -> None:
        await checkpoint()

    async def on_stop(self) -> None:
        await checkpoint()


async def repeat(text: str) -> str:
    return text


async def never(ping: Ping) -> None:
    await sleep_forever()


KINDS: dict[str, tuple[object, int]] = {
    "at rest": (echo, 0),
    "busy": (never, 0),
    "queued": (never, 3),
    "lively": (Lively, 0),
}


async def settled() -> None:
    for _ in range(10):
        await checkpoint()


@pytest.mark.in_turns
@pytest.mark.parametrize(("handler", "queued"), KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("leave", ["drain", "unregister", "error"])
async def test_p5_the_end_of_many_agents_lets_others_run(handler: object, queued: int, leave: str) -> None:
    async def end(hub: Hub) -> None:
        if leave == "drain":
            await hub.drain(timeout=0)
        elif leave == "unregister":
            for agent in hub.agents:
                await hub.unregister(agent, drain=False)
        else:
            raise ZeroDivisionError

    with fail_after(120):
        async with watched() as late:
            with suppress(ZeroDivisionError):
                async with Hub(grace=0) as hub:
                    for number in range(ENDING):
                        hub.register(f"agent-{number}", handler)
                        await hub.send(f"agent-{number}", Ping())
                    await until(lambda: not hub.metrics().depths)
                    for number in range(ENDING * queued):
                        await hub.send(f"agent-{number % ENDING}", Ping())
                    await settled()  # what came before is not what is measured
                    late.seconds = 0.0
                    await end(hub)
    assert late.most < 3 * ENDING
    assert hub.metrics().in_flight == 0
