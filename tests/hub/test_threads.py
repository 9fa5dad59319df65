"""A hub is called in the thread and the event loop that it was entered in, and nowhere else."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import anyio
import pytest
from anyio import create_task_group, fail_after, from_thread, to_thread
from tests.hub._agents import Gate, Ping, Pong, echo

from stagepost.hub import Context, Hub, WrongThread


async def listen(hub: Hub) -> None:
    async with hub.listen("a"):
        raise AssertionError("it listens")


async def register(hub: Hub) -> None:
    hub.register("another", echo)


async def subscribe(hub: Hub) -> None:
    hub.subscribe("echo", "a")


async def unsubscribe(hub: Hub) -> None:
    hub.unsubscribe("echo", "a")


Call = Callable[[Hub], Awaitable[object]]

CALLS: dict[str, Call] = {
    "send": lambda hub: hub.send("echo", Ping()),
    "send to nobody": lambda hub: hub.send("nobody", Ping()),
    "request": lambda hub: hub.request("echo", Ping()),
    "publish": lambda hub: hub.publish("a", Ping()),
    "broadcast": lambda hub: hub.broadcast(Ping()),
    "drain": lambda hub: hub.drain(),
    "unregister": lambda hub: hub.unregister("echo"),
    "listen": listen,
    "register": register,
    "subscribe": subscribe,
    "unsubscribe": unsubscribe,
}
every_call = pytest.mark.parametrize(("name", "call"), CALLS.items(), ids=CALLS.keys())


async def refused(call: Callable[[], Awaitable[object]], into: list[WrongThread]) -> None:
    try:
        await call()
    except WrongThread as error:
        into.append(error)


@every_call
@pytest.mark.parametrize("loop", ["asyncio", "trio", None])
@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
async def test_a_call_from_another_thread_is_refused_at_once(
    name: str, call: Call, loop: str | None, *, warm: bool
) -> None:
    errors: list[WrongThread] = []
    with fail_after(5):
        async with Hub("main") as hub:
            hub.register("echo", echo)
            if warm:
                await hub.request("echo", Ping())
            before = hub.metrics().accepted

            def run() -> None:
                if loop is None:
                    run_without_loop(refused(partial(call, hub), errors))
                else:
                    anyio.run(refused, partial(call, hub), errors, backend=loop)

            await to_thread.run_sync(run)
            assert hub.metrics().accepted == before
            assert await hub.request("echo", Ping(1)) == Pong(1)
    (error,) = errors
    assert (error.hub, error.call) == ("main", name.split(maxsplit=1)[0])
    assert "anyio.from_thread.run" in str(error)
    assert "hub.portal()" in str(error)


def run_without_loop(coroutine: Awaitable[object]) -> None:
    """Run what never waits."""
    with pytest.raises(StopIteration):
        coroutine.__await__().send(None)


@pytest.mark.parametrize("name", ["send", "request", "publish", "broadcast", "forward"])
async def test_a_context_is_not_for_other_threads_either(name: str) -> None:
    errors: list[WrongThread] = []

    async def hand_out(ping: Ping, context: Context) -> None:
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "send": lambda: context.send("echo", ping),
            "request": lambda: context.request("echo", ping),
            "publish": lambda: context.publish("a", ping),
            "broadcast": lambda: context.broadcast(ping),
            "forward": lambda: context.forward("echo"),
        }
        await to_thread.run_sync(lambda: anyio.run(refused, calls[name], errors))

    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            hub.register("hand-out", hand_out)
            await hub.request("hand-out", Ping())
    assert len(errors) == 1


async def test_the_named_way_works() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)

            def work() -> object:
                return from_thread.run(hub.request, "echo", Ping(3))

            assert await to_thread.run_sync(work) == Pong(3)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_other_named_way_works(anyio_backend: str) -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            loop = asyncio.get_running_loop()

            def work() -> object:
                return asyncio.run_coroutine_threadsafe(hub.request("echo", Ping(3)), loop).result(5)

            assert await to_thread.run_sync(work) == Pong(3)


async def test_a_hub_that_was_not_entered_takes_agents_from_anywhere() -> None:
    hub = Hub()
    await to_thread.run_sync(hub.register, "echo", echo)
    await to_thread.run_sync(hub.subscribe, "echo", "a")
    with fail_after(5):
        async with hub:
            assert await hub.request("echo", Ping(1)) == Pong(1)


def test_a_loop_of_trio_that_has_ended_is_refused() -> None:
    hub = Hub()
    with pytest.raises(RuntimeError):  # it was left open
        anyio.run(hub.__aenter__, backend="trio")
    with pytest.raises(WrongThread):
        hub.register("echo", echo)


async def test_numbers_and_pictures_may_be_looked_at_from_other_threads() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate)
            tasks.start_soon(hub.send, "gate", Ping())
            await gate.entered.wait()
            assert (await to_thread.run_sync(hub.metrics)).in_flight == 1
            assert [agent.id for agent in (await to_thread.run_sync(hub.describe)).agents] == ["gate"]
            gate.opened.set()


def test_another_loop_in_the_same_thread_is_refused() -> None:
    hub, done = Hub(), asyncio.Event()

    async def own() -> None:
        async with hub:
            hub.register("echo", echo)
            await done.wait()

    async def call_all() -> None:
        for name, call in CALLS.items():
            if name not in {"send", "send to nobody", "request"}:  # those only find out threads: more would be dear
                with pytest.raises(WrongThread):
                    await call(hub)

    async def finish() -> None:
        done.set()
        await task

    loop = asyncio.new_event_loop()
    task = loop.create_task(own())
    loop.run_until_complete(asyncio.sleep(0.01))
    asyncio.run(call_all())
    with pytest.raises(WrongThread):  # and no loop at all
        hub.register("another", echo)
    loop.run_until_complete(finish())
    loop.close()


async def test_a_stream_is_read_in_the_thread_of_its_hub() -> None:
    refusals: list[WrongThread] = []
    with fail_after(5):
        async with Hub() as hub, hub.listen("a") as stream:
            await hub.publish("a", Ping(1))
            await to_thread.run_sync(anyio.run, refused, partial(anext, stream), refusals)
            assert (await anext(stream)).data == Ping(1)
    assert len(refusals) == 1
