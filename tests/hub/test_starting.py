"""A hub is started and stopped without a block: in any task, on asyncio."""

import asyncio

import pytest
from anyio import CancelScope, create_task_group, fail_after, get_running_tasks
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, Recorder, echo, until

from stagepost.hub import Context, Hub, HubReentered, HubStopped, WrongStart, WrongThread

only_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])


async def started(*agents: tuple[str, object], grace: float = 10) -> Hub:
    hub = Hub(grace=grace)
    for agent, handler in agents:
        hub.register(agent, handler)
    return await hub.start()


@only_asyncio
async def test_one_task_starts_a_hub_and_another_one_stops_it() -> None:
    hubs: list[Hub] = []

    async def start() -> None:
        hubs.append(await started(("echo", echo)))

    with fail_after(5):
        async with create_task_group() as tasks:
            tasks.start_soon(start)
        (hub,) = hubs
        assert await hub.request("echo", Ping(1)) == Pong(1)
        async with create_task_group() as tasks:
            tasks.start_soon(hub.stop)
        with pytest.raises(HubStopped):
            await hub.send("echo", Ping())


@only_asyncio
async def test_scopes_of_the_task_that_started_it_do_not_end_a_hub() -> None:
    with fail_after(5):
        with CancelScope() as scope:
            hub = await started(("echo", echo))
            scope.cancel()
        assert await hub.request("echo", Ping(1)) == Pong(1)
        await hub.stop()


@only_asyncio
async def test_stopping_finishes_what_is_queued_and_leaves_no_task() -> None:
    with fail_after(5):
        before = {task.id for task in get_running_tasks()}
        hub = await started(("echo", echo))
        for number in range(10):
            await hub.send("echo", Ping(number))
        await hub.stop()
        assert hub.metrics().handled == 10
        assert {task.id for task in get_running_tasks()} == before


@only_asyncio
async def test_a_cancelled_stop_ends_the_hub_at_once_and_waits_for_that() -> None:
    gate = Gate()
    with fail_after(5):
        hub = Hub(grace=60)
        hub.register(gate)
        await hub.start()
        await hub.send("gate", Ping())
        await gate.entered.wait()
        with CancelScope() as scope:
            scope.cancel()
            await hub.stop()
        assert gate.cancelled.is_set()
        assert hub.metrics().in_flight == 0
        await hub.stop()


@only_asyncio
async def test_a_start_that_is_cancelled_leaves_no_hub_running() -> None:
    with fail_after(5):
        hub = Hub()
        with CancelScope() as scope:
            scope.cancel()
            await hub.start()
        await until(lambda: not [task for task in get_running_tasks() if "owner" in (task.name or "")])
        await hub.stop()
        with pytest.raises(HubReentered):
            await hub.start()


@only_asyncio
async def test_stopping_raises_what_ended_the_hub_once() -> None:
    async def explode(ping: Ping) -> None:
        raise ZeroDivisionError("boom")

    with fail_after(5):
        hub = Hub()
        hub.register("bomb", explode, supervision="escalate")
        await hub.start()
        await hub.send("bomb", Ping())
        with pytest.raises(ZeroDivisionError, match="boom"):
            await hub.stop()
        await hub.stop()


@only_asyncio
async def test_what_fails_while_it_is_entered_is_raised_by_the_start() -> None:
    class Interrupting(Recorder):
        def on_event(self, event: object, /) -> None:  # noqa: ARG002 - it wants none
            raise BaseExceptionGroup("two", [KeyboardInterrupt(), ValueError()])

    with fail_after(5):
        hub = Hub(observer=Interrupting())
        with pytest.raises(BaseExceptionGroup):
            await hub.start()


def test_an_interrupt_in_a_handler_ends_the_program() -> None:
    async def interrupt(ping: Ping) -> None:
        raise KeyboardInterrupt

    async def main() -> None:
        hub = await started(("bad", interrupt))
        await hub.send("bad", Ping())
        await asyncio.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())


def test_a_hub_that_nobody_stops_ends_with_its_loop() -> None:
    hubs: list[Hub] = []
    gate = Gate()

    async def main() -> None:
        hub = Hub()
        hub.register(gate)
        await hub.start()
        hubs.append(hub)
        await hub.send("gate", Ping())
        await gate.entered.wait()

    asyncio.run(main())
    assert hubs[0].metrics().in_flight == 0
    assert gate.cancelled.is_set()


@only_asyncio
async def test_a_handler_may_stop_its_hub_and_is_not_waited_for() -> None:
    steps: list[str] = []

    async def shut_down(ping: Ping, context: Context) -> None:
        await context.hub.stop()
        steps.append("handler goes on")

    with fail_after(5):
        hub = await started(("echo", echo), ("shutter", shut_down))
        await hub.send("shutter", Ping())
        await hub.send("echo", Ping())
        await until(lambda: steps == ["handler goes on"])
        await hub.stop()
        assert hub.metrics().handled == 2


@only_asyncio
async def test_a_hub_starts_once() -> None:
    with fail_after(5):
        hub = await started()
        with pytest.raises(HubReentered):
            await hub.start()
        with pytest.raises(HubReentered):
            await hub.__aenter__()
        await hub.stop()
        await hub.stop()
        with pytest.raises(HubReentered):
            await hub.start()


async def test_a_hub_in_a_block_is_not_stopped() -> None:
    with fail_after(5):
        async with Hub("main") as hub:
            with pytest.raises(HubReentered):
                await hub.start()
            with pytest.raises(WrongStart, match="'main' was entered by `async with`: leave the block") as caught:
                await hub.stop()
            assert caught.value.hub == "main"


async def test_stopping_what_never_started_does_nothing() -> None:
    with fail_after(5):
        await Hub().stop()


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_on_trio_a_start_is_refused_by_one_sentence_and_a_block_still_works() -> None:
    with fail_after(5):
        hub = Hub("main")
        with pytest.raises(WrongStart) as caught:
            await hub.start()
        assert str(caught.value) == (
            "hub 'main' cannot be started on trio, where each task belongs to a block: use `async with hub:`"
        )
        async with hub:
            hub.register("echo", echo)
            assert await hub.request("echo", Ping(1)) == Pong(1)


@only_asyncio
async def test_another_loop_does_not_stop_it() -> None:
    with fail_after(5):
        hub = await started()
        with pytest.raises(WrongThread):
            await asyncio.to_thread(asyncio.run, hub.stop())
        await hub.stop()


@only_asyncio
async def test_a_cancelled_owner_that_never_ran_lets_nobody_wait() -> None:
    with fail_after(5):
        hub = Hub()
        starting = asyncio.ensure_future(hub.start())
        await checkpoint()
        for task in asyncio.all_tasks():
            if "owner" in task.get_name():
                task.cancel()
        with pytest.raises(HubStopped):
            await starting
        await hub.stop()
