"""Streamed replies over a bridge."""

from collections.abc import AsyncIterator

import pytest
from anyio import create_task_group, fail_after, wait_all_tasks_blocked
from tests.hub._agents import until
from tests.hub._streams import Source, break_off, count, double
from tests.hub.test_bridge import hubs, quiet

from stagepost.hub import (
    AgentNotFound,
    Bridge,
    Context,
    HandlerFailed,
    Hub,
    HubStopped,
    Message,
    RequestCycle,
    RequestTimeout,
    StreamedReply,
)
from stagepost.hub.testing import VirtualClock


async def read(hub: Hub, agent: str, payload: object) -> list[object]:
    return [part async for part in hub.stream(agent, payload, timeout=None)]


async def test_parts_cross_a_bridge_in_order_and_a_plain_reply_is_one() -> None:
    async with hubs("a", "b") as (a, b):
        b.register("count", count)
        b.register("double", double)
        Bridge(a, b, map=["count@b", "double@b"])
        assert await read(a, "count", 100) == list(range(100))
        assert await read(a, "double", 4) == [8]
        assert await a.request("double", 4) == 8
        await quiet(a, b)
        assert a.metrics().failed == a.metrics().late_replies == 0


async def test_a_request_for_a_streamed_reply_is_refused_as_on_its_own_hub() -> None:
    async with hubs("a", "b") as (a, b):
        b.register("count", count)
        Bridge(a, b, map=["count@b"])
        with pytest.raises(StreamedReply):
            await a.request("count", 3, timeout=None)


async def test_an_error_comes_after_the_parts_before_it() -> None:
    got: list[object] = []
    async with hubs("a", "b") as (a, b):
        b.register("break", break_off)
        Bridge(a, b, map=["break@b", "nobody@b"])
        stream = a.stream("break", 3, timeout=None)
        got += [await anext(stream) for _ in range(3)]
        with pytest.raises(HandlerFailed) as caught:
            await anext(stream)
        with pytest.raises(AgentNotFound):
            await read(a, "nobody", 3)
        await quiet(a, b)
    assert got == [0, 1, 2]
    assert (caught.value.recipient, type(caught.value.cause)) == ("break", ZeroDivisionError)


async def test_a_slow_reader_slows_the_handler_on_the_other_hub_down() -> None:
    source = Source()
    async with hubs("a", "b") as (a, b):
        b.register(source)
        Bridge(a, b, map=["source@b"])
        async with a.stream("source", 10_000, timeout=None, window=4) as stream:
            assert [await anext(stream) for _ in range(10)] == list(range(10))
            await wait_all_tasks_blocked()
            assert source.made < 100
        await source.closed.wait()
        await quiet(a, b)


async def test_a_reader_that_leaves_cancels_the_handler_on_the_other_hub() -> None:
    source = Source()
    async with hubs("a", "b") as (a, b):
        b.register(source)
        Bridge(a, b, map=["source@b"])
        async with a.stream("source", 3, timeout=None) as stream:
            assert await anext(stream) == 0
        await source.closed.wait()
        await quiet(a, b)
        assert b.metrics().cancelled == 1


async def test_the_time_of_the_whole_reply_holds_on_both_hubs() -> None:
    clock, source = VirtualClock(), Source()
    errors: list[RequestTimeout] = []
    with fail_after(20):
        async with Hub("a", clock=clock) as a, Hub("b", clock=clock) as b:
            b.register(source)
            Bridge(a, b, map=["source@b"])

            async def listen() -> None:
                try:
                    async for _ in a.stream("source", 3, timeout=5):
                        pass
                except RequestTimeout as error:
                    errors.append(error)

            async with create_task_group() as tasks:
                tasks.start_soon(listen)
                await until(lambda: source.made == 3)
                await clock.advance(6)
            await source.closed.wait()
            await quiet(a, b)
    assert len(errors) == 1


async def test_a_stream_keeps_trace_and_headers_and_its_circles_are_found() -> None:
    seen: list[Message[str]] = []

    async def back(message: Message[str], context: Context) -> AsyncIterator[str]:
        seen.append(message)
        async for part in context.stream("front", message.data, timeout=None):
            yield str(part)

    async def front(text: str, context: Context) -> AsyncIterator[str]:
        async for part in context.stream("back", text, timeout=None):
            yield str(part)

    async with hubs("a", "b") as (a, b):
        a.register("front", front)
        b.register("back", back)
        Bridge(a, b, map=["back@b", "front@a"])
        with pytest.raises(HandlerFailed) as caught:
            await anext(a.stream("front", "x", timeout=None, trace="t"))
        error: BaseException = caught.value
        while isinstance(error, HandlerFailed):
            error = error.cause
        await quiet(a, b)
    assert isinstance(error, RequestCycle)
    assert (seen[0].trace, seen[0].chain) == ("t", ("front@a", "bridge-requests@a"))


async def test_a_stream_ends_when_the_other_hub_stops() -> None:
    source = Source()
    errors: list[BaseException] = []
    with fail_after(20):
        async with create_task_group() as tasks, Hub("a") as a, Hub("b", grace=0) as b:
            b.register(source)
            Bridge(a, b, map=["source@b"])

            async def listen() -> None:
                try:
                    await read(a, "source", 3)
                except HubStopped as error:
                    errors.append(error)

            tasks.start_soon(listen)
            await until(lambda: source.made == 3)
            await b.drain(timeout=0)
            await until(lambda: bool(errors))
