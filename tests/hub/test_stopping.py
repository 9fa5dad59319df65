import asyncio

import pytest
from anyio import CancelScope, Event, create_task_group, current_time, fail_after, sleep_forever
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, Recorder, Relay, echo, until

from stagepost.hub import Context, Hub, HubStopped
from stagepost.hub.testing import idle


async def test_leaving_finishes_what_is_queued() -> None:
    seen: list[int] = []

    async def note(number: int) -> None:
        await checkpoint()
        seen.append(number)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("note", note)
            for number in range(50):
                await hub.send("note", number)
    assert seen == list(range(50))


async def test_the_grace_bounds_leaving() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub(grace=0.05) as hub:
            hub.register(gate)
            await hub.send("gate", Ping(0))
            await hub.send("gate", Ping(1))
            began = current_time()
        assert current_time() - began >= 0.05
    assert gate.cancelled.is_set()
    assert (hub.metrics().cancelled, hub.metrics().dead, hub.metrics().in_flight) == (1, 1, 0)


async def test_leaving_by_an_exception_skips_the_grace_and_keeps_the_exception() -> None:
    gate = Gate()

    async def own() -> None:
        async with Hub(grace=None) as hub:
            hub.register(gate)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            raise ZeroDivisionError

    with fail_after(5), pytest.raises(ZeroDivisionError):
        await own()
    assert gate.cancelled.is_set()


async def test_cancelling_the_owner_skips_the_grace() -> None:
    gate = Gate()
    with fail_after(5):
        with CancelScope() as scope:
            async with Hub(grace=None) as hub:
                hub.register(gate)
                await hub.send("gate", Ping(0))
                await gate.entered.wait()
                scope.cancel()
                await sleep_forever()
    assert scope.cancelled_caught
    assert gate.cancelled.is_set()


async def test_cancelling_the_owner_cuts_the_grace_short() -> None:
    gate = Gate()

    async def cancel_later(scope: CancelScope, hub: Hub) -> None:
        await until(lambda: hub._directory.phase.name == "DRAINING")
        scope.cancel()

    with fail_after(5):
        async with create_task_group() as tasks:
            with CancelScope() as scope:
                async with Hub(grace=None) as hub:
                    hub.register(gate)
                    await hub.send("gate", Ping(0))
                    tasks.start_soon(cancel_later, scope, hub)
    assert gate.cancelled.is_set()
    assert hub.metrics().in_flight == 0


async def test_running_handlers_may_still_send_while_outsiders_are_refused() -> None:
    gate = Gate()
    outcome: list[str] = []

    async def work(ping: Ping, context: Context) -> None:
        await gate.opened.wait()
        await context.send("echo", ping)
        assert await context.request("echo", ping) == Pong(ping.number)
        assert await context.hub.request("echo", ping) == Pong(ping.number)
        async with create_task_group() as tasks:
            tasks.start_soon(context.hub.send, "echo", ping)
        outcome.append("worked")

    async def outsider(hub: Hub) -> None:
        await until(lambda: hub._directory.phase.name == "DRAINING")
        with pytest.raises(HubStopped):
            await hub.send("echo", Ping())
        with pytest.raises(HubStopped):
            hub.register("new", echo)
        outcome.append("refused")
        gate.opened.set()

    with fail_after(5):
        async with create_task_group() as tasks, Hub() as hub:
            hub.register("work", work)
            hub.register("echo", echo)
            await hub.send("work", Ping(1))
            tasks.start_soon(outsider, hub)
    assert outcome == ["refused", "worked"]
    assert hub.metrics().handled == 5


async def test_a_handler_of_another_hub_is_an_outsider() -> None:
    gate = Gate()
    refused: list[bool] = []

    async def meddle(ping: Ping) -> None:
        await until(lambda: inner._directory.phase.name == "DRAINING")
        with pytest.raises(HubStopped):
            await inner.send("gate", ping)
        refused.append(True)
        gate.opened.set()

    with fail_after(5):
        async with Hub("outer") as outer:
            outer.register("meddle", meddle)
            async with Hub("inner") as inner:
                inner.register(gate)
                await inner.send("gate", Ping())
                await outer.send("meddle", Ping())
    assert refused == [True]


async def test_drain_stops_for_good() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            await hub.send("echo", Ping())
            await hub.drain()
            assert hub.metrics().handled == 1
            with pytest.raises(HubStopped):
                await hub.send("echo", Ping())
            await hub.drain()


async def test_drain_cancels_what_does_not_end_in_time() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            await hub.send("gate", Ping())
            await gate.entered.wait()
            await hub.drain(timeout=0)
            assert gate.cancelled.is_set()
            assert hub.metrics().in_flight == 0


async def test_a_handler_may_drain_its_hub_and_still_answer() -> None:
    async def stop(ping: Ping, context: Context) -> str:
        await context.hub.drain(timeout=0.05)
        return "stopped"

    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register("stop", stop)
            hub.register(gate)
            await hub.send("gate", Ping())
            assert await hub.request("stop", Ping(), expect=str) == "stopped"
    assert (hub.metrics().handled, hub.metrics().cancelled) == (1, 1)


async def test_two_may_drain_at_once() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            await hub.send("gate", Ping())
            async with create_task_group() as tasks:
                tasks.start_soon(hub.drain)
                tasks.start_soon(hub.drain)
                await gate.entered.wait()
                gate.opened.set()
    assert hub.metrics().handled == 1


async def test_requests_among_agents_end_when_the_hub_stops() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub(grace=0.05) as hub:
            hub.register(gate)
            hub.register(Relay("relay", "gate"))
            await hub.send("relay", Ping())
            await gate.entered.wait()
    assert hub.metrics().cancelled == 2


async def test_idle_of_a_quiet_or_unentered_hub_returns_at_once() -> None:
    hub = Hub()
    with fail_after(5):
        await idle(hub)
        async with hub:
            await idle(hub)


async def test_idle_follows_messages_that_handlers_send() -> None:
    async def countdown(number: int, context: Context) -> None:
        await checkpoint()
        if number:
            await context.send("countdown", number - 1)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("countdown", countdown)
            await hub.send("countdown", 20)
            async with create_task_group() as tasks:
                tasks.start_soon(idle, hub)
                await idle(hub)
            assert hub.metrics().handled == 21


async def test_who_no_longer_waits_for_idle_is_forgotten() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            await hub.send("gate", Ping())
            with CancelScope() as scope:
                scope.cancel()
                await idle(hub)
            assert hub._engine is not None
            assert hub._engine.account.bell._waiting == ()
            gate.opened.set()


async def test_the_last_event_says_that_the_hub_is_closed() -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub(observer=recorder):
            pass
    assert recorder.names == ["HubOpened", "HubClosed"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_cancelling_the_owning_task_the_way_of_asyncio_stops_the_hub(anyio_backend: str) -> None:
    gate = Gate()

    async def own() -> None:
        async with Hub(grace=None) as hub:
            hub.register(gate)
            await hub.request("gate", Ping())

    with fail_after(5):
        owner = asyncio.create_task(own())
        await gate.entered.wait()
        owner.cancel()
        with pytest.raises(asyncio.CancelledError):
            await owner
    assert gate.cancelled.is_set()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_timeout_the_way_of_asyncio_cancels_the_handler(anyio_backend: str) -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(hub.request("gate", Ping()), 0.01)
            await gate.cancelled.wait()
            gate.opened.set()
            assert await hub.request("gate", Ping(1)) == Pong(1)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_stop_that_asyncio_cancels_is_finished_all_the_same(anyio_backend: str) -> None:
    async def own() -> None:
        async with hub:
            for number in range(500):
                hub.register(f"gate-{number}", Gate().pass_through)
                await hub.send(f"gate-{number}", Ping())
            while hub.metrics().depth:
                await checkpoint()
            stopping.set()
            await hub.drain(timeout=0)

    async def cancel() -> None:
        await stopping.wait()
        while not hub.metrics().cancelled:
            await checkpoint()
        owner.cancel()

    hub, stopping = Hub(grace=0), Event()
    with fail_after(30):
        owner = asyncio.ensure_future(own())
        await cancel()
        with pytest.raises(asyncio.CancelledError):
            await owner
    metrics = hub.metrics()
    assert (metrics.cancelled, metrics.in_flight) == (500, 0)
