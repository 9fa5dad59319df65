import asyncio

import pytest
from anyio import CancelScope, create_task_group, fail_after, move_on_after, sleep
from tests.hub._agents import Ping, Recorder, error_of, until

from stagepost.hub import Hub, HubNotStarted, HubStopped, Listener


async def test_a_listener_gets_what_is_published_meanwhile() -> None:
    with fail_after(5):
        async with Hub() as hub:
            await hub.publish("a.b", Ping(0))
            async with hub.listen("a.>") as stream:
                report = await hub.publish("a.b", Ping(1))
                await hub.publish("a.c", Ping(2))
                first, second = await anext(stream), await anext(stream)
            await hub.publish("a.b", Ping(3))
    assert report.delivered == (stream.id,)
    assert [(message.topic, message.data.number) for message in (first, second)] == [("a.b", 1), ("a.c", 2)]
    assert hub.metrics().in_flight == 0
    assert hub.metrics().handled == 2


async def test_a_listener_waits_for_the_next_message() -> None:
    seen: list[int] = []

    async def read(stream: Listener) -> None:
        async for message in stream:
            seen.append(message.data.number)  # noqa: PERF401 - they come one by one

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks, hub.listen("a") as stream:
            tasks.start_soon(read, stream)
            for number in range(3):
                await hub.publish("a", Ping(number))
                await idle_of(seen, number + 1)
    assert seen == [0, 1, 2]


async def test_a_listener_ends_with_the_hub_after_what_it_has() -> None:
    seen: list[int] = []
    with fail_after(5):
        async with Hub() as hub, hub.listen("a") as stream:
            await hub.publish("a", Ping(1))
            assert (await hub.drain()).clean
            async for message in stream:
                seen.append(message.data.number)  # noqa: PERF401 - they come one by one
            with pytest.raises(HubStopped):
                async with hub.listen("a"):
                    pass
    assert seen == [1]


@pytest.mark.parametrize(
    ("overflow", "kept", "lost"), [("reject", [0, 1], 1), ("drop_oldest", [1, 2], 0)], ids=["reject", "drop_oldest"]
)
async def test_a_slow_reader_holds_up_nobody(overflow: str, kept: list[int], lost: int) -> None:
    with fail_after(5):
        async with Hub() as hub, hub.listen("a", limit=2, overflow=overflow) as stream:  # type: ignore[arg-type]
            reports = [await hub.publish("a", Ping(number), timeout=1) for number in range(3)]
            seen = [(await anext(stream)).data.number for _ in range(2)]
    assert seen == kept
    assert sum(len(report.full) for report in reports) == lost
    assert len(hub.dead_letters) == lost
    assert stream.dropped == 1 - lost


async def test_a_reader_that_is_cancelled_hands_its_turn_on() -> None:
    seen: list[int] = []
    scopes = [CancelScope(), CancelScope()]

    async def read(stream: Listener, scope: CancelScope) -> None:
        with scope:
            seen.append((await anext(stream)).data.number)

    with fail_after(5):
        async with Hub() as hub, hub.listen("a") as stream, create_task_group() as tasks:
            tasks.start_soon(read, stream, scopes[0])
            tasks.start_soon(read, stream, scopes[1])
            await until(lambda: len(stream._waiters) == 2)
            await hub.publish("a", Ping(5), ttl=10)
            scopes[0].cancel()
            await until(lambda: bool(seen))
            scopes[1].cancel()
    assert seen == [5]


async def test_listeners_are_seen_in_events_and_descriptions() -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            async with hub.listen("a.>"):
                assert hub.describe().listeners == (("listener-1", ("a.>",)),)
                assert "l0" in hub.describe().mermaid()
            assert hub.describe().listeners == ()
    assert recorder.names.count("SubscriptionAdded") == recorder.names.count("SubscriptionRemoved") == 1


async def test_listening_needs_a_running_hub() -> None:
    with pytest.raises(HubNotStarted):
        async with Hub().listen("a"):
            pass


async def idle_of(seen: list[int], length: int) -> None:
    await until(lambda: len(seen) == length)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_reader_cancelled_by_asyncio_hands_its_turn_on(anyio_backend: str) -> None:
    with fail_after(5):
        async with Hub() as hub, hub.listen("a") as stream:
            first, second = (asyncio.ensure_future(anext(stream)) for _ in range(2))
            await until(lambda: len(stream._waiters) == 2)
            await hub.publish("a", Ping(5))
            first.cancel()
            assert (await second).data == Ping(5)
            assert first.cancelled()


async def test_after_a_wait_that_timed_out_the_next_message_wakes_its_reader() -> None:
    seen: list[int] = []

    async def read(stream: Listener) -> None:
        seen.append((await anext(stream)).data.number)

    with fail_after(5):
        async with Hub() as hub, hub.listen("a") as stream, create_task_group() as tasks:
            for _ in range(20):
                with move_on_after(0.001):
                    await anext(stream)
            assert len(stream._waiters) == 0
            for number in range(2):
                tasks.start_soon(read, stream)
                await until(lambda: len(stream._waiters) == 1)
                await hub.publish("a", Ping(number))
                await idle_of(seen, number + 1)
    assert seen == [0, 1]


async def test_two_readers_share_what_comes_also_if_one_of_them_polls() -> None:
    seen: list[int] = []

    async def poll(stream: Listener) -> None:
        while True:
            with move_on_after(0.0005):
                seen.append((await anext(stream)).data.number)

    async def read(stream: Listener) -> None:
        async for message in stream:
            seen.append(message.data.number)  # noqa: PERF401 - they come one by one

    with fail_after(10):
        async with Hub() as hub, hub.listen("a", limit=None) as stream, create_task_group() as tasks:
            tasks.start_soon(poll, stream)
            tasks.start_soon(read, stream)
            for number in range(300):
                await hub.publish("a", Ping(number))
                if number % 7 == 0:
                    await sleep(0.0005)
            await until(lambda: len(seen) == 300)
            tasks.cancel_scope.cancel()
    assert sorted(seen) == list(range(300))


async def test_closing_ends_all_who_wait() -> None:
    ended: list[StopAsyncIteration] = []
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks, hub.listen("a") as stream:
            for _ in range(3):
                tasks.start_soon(error_of, StopAsyncIteration, stream.__anext__, ended)
            await until(lambda: len(stream._waiters) == 3)
    assert len(ended) == 3


async def test_a_listener_whose_block_is_cancelled_as_it_begins_is_gone() -> None:
    with fail_after(5):
        async with Hub() as hub:
            with CancelScope() as scope:
                scope.cancel()
                for _ in range(100_000):
                    async with hub.listen("a"):
                        pass
            assert scope.cancelled_caught
            assert hub.describe().listeners == ()
            assert (await hub.publish("a", Ping())).delivered == ()
