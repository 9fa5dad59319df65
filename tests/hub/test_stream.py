"""Streaming replies: parts, ends, errors, backpressure."""

import gc
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from anyio import (
    BusyResourceError,
    create_task_group,
    fail_after,
    get_cancelled_exc_class,
    sleep_forever,
    wait_all_tasks_blocked,
)
from anyio import Event as Flag
from tests.hub._agents import until
from tests.hub._streams import Source, break_off, count, double, relay, spell

from stagepost.hub import (
    AgentNotFound,
    AgentStopped,
    Bridge,
    Context,
    HandlerFailed,
    Hub,
    HubNotStarted,
    HubStopped,
    InvalidArgument,
    Message,
    MessageHandled,
    NoHandler,
    RequestCycle,
    RequestTimeout,
    StreamedReply,
    UnexpectedReply,
    handles,
)
from stagepost.hub.testing import Recorder, VirtualClock, idle


async def read(hub: Hub, agent: str, payload: object, **options: Any) -> list[Any]:
    with fail_after(10):
        return [part async for part in hub.stream(agent, payload, **options)]


async def collect(parts: AsyncIterator[Any], collected: list[Any]) -> None:
    async for part in parts:
        collected.append(part)  # noqa: PERF401 - it keeps what came before an error


async def fail_reading(hub: Hub) -> None:
    async for _ in hub.stream("source", 1000):
        raise ValueError("mine")


async def test_the_parts_of_a_generator_come_in_order() -> None:
    async with Hub() as hub:
        hub.register("count", count)
        hub.register("spell", spell)
        assert await read(hub, "count", 100, expect=int) == list(range(100))
        assert await read(hub, "spell", "abc", expect=str) == ["a", "b", "c"]
        assert await read(hub, "count", 0) == []


async def test_the_reply_of_a_plain_handler_is_one_part() -> None:
    async def nothing(text: str) -> None: ...

    async with Hub() as hub:
        hub.register("double", double)
        hub.register("nothing", nothing)
        assert await read(hub, "double", 4) == [8]
        assert await read(hub, "nothing", "") == [None]
        with pytest.raises(UnexpectedReply):
            await read(hub, "double", 4, expect=str)


async def test_a_request_to_a_generator_is_refused_at_once_and_says_what_to_write() -> None:
    async with Hub() as hub:
        hub.register("count", count, topics=["numbers"])
        with pytest.raises(StreamedReply, match=r"read the parts by `async for part in hub\.stream\('count', …\)`"):
            await hub.request("count", 3)
        assert hub.metrics().refused == 1
        replies = await hub.request_many("numbers", 3)
        assert isinstance(replies.failures["count"], StreamedReply)
        assert hub.metrics().accepted == 0


async def test_a_generator_that_only_the_reply_shows_refuses_a_request_and_streams() -> None:
    closed = []

    def hidden(number: int) -> object:
        return count(number)

    def inner(text: str) -> Iterator[str]:
        try:
            yield text
        finally:
            closed.append(text)

    def hidden_sync(text: str) -> object:
        return inner(text)

    async with Hub() as hub:
        hub.register("hidden", hidden)
        hub.register("hidden-sync", hidden_sync)
        assert await read(hub, "hidden", 3) == [0, 1, 2]
        assert await read(hub, "hidden-sync", "a") == ["a"]
        for agent, payload in (("hidden", 3), ("hidden-sync", "b")):
            with pytest.raises(HandlerFailed) as caught:
                await hub.request(agent, payload)
            assert isinstance(caught.value.cause, StreamedReply)
    assert closed == ["a"]  # the other one never began


async def test_a_handler_may_do_both() -> None:
    def either(number: int, context: Context) -> object:
        return count(number) if context.wants_parts else double(number)

    async with Hub() as hub:
        hub.register("either", either)
        assert await read(hub, "either", 3) == [0, 1, 2]
        assert await hub.request("either", 3) == 6


async def test_one_way_messages_run_a_generator_to_its_end() -> None:
    done = []

    async def work(number: int) -> AsyncIterator[int]:
        for part in range(number):
            yield part
        done.append(number)

    async with Hub() as hub:
        hub.register("work", work, topics=["work"])
        await hub.send("work", 1000)
        await hub.publish("work", 5000)
        with fail_after(10):
            await idle(hub)
        assert done == [1000, 5000]
        assert hub.metrics().handled == 2
        assert hub.metrics().agents["work"].parts == 6000


async def test_a_slow_reader_slows_the_handler_down() -> None:
    source = Source()
    async with Hub() as hub:
        hub.register(source)
        async with hub.stream("source", 1000, window=4) as stream:
            assert await anext(stream) == 0
            await wait_all_tasks_blocked()
            assert source.made <= 6
            for number in range(1, 50):
                assert await anext(stream) == number
            await wait_all_tasks_blocked()
            assert 50 <= source.made <= 56


async def test_a_window_of_one_hands_over_one_part_at_a_time() -> None:
    async with Hub() as hub:
        hub.register("count", count)
        assert await read(hub, "count", 50, window=1) == list(range(50))
        assert await read(hub, "count", 5000, window=None) == list(range(5000))


@pytest.mark.parametrize("way", ["break", "aclose", "block", "error", "dropped"])
async def test_leaving_cancels_the_handler_and_runs_its_finally(way: str) -> None:
    source = Source()
    async with Hub() as hub:
        hub.register(source)
        if way == "break":
            async for _ in hub.stream("source", 1000):
                break
        elif way == "aclose":
            stream = hub.stream("source", 1000)
            await anext(stream)
            await stream.aclose()
            await stream.aclose()
            assert [part async for part in stream] == []
        elif way == "block":
            async with hub.stream("source", 1000) as stream:
                await anext(stream)
        elif way == "error":
            with pytest.raises(ValueError, match="mine"):
                await fail_reading(hub)
        else:
            stream = hub.stream("source", 2)
            await anext(stream)
            del stream
        gc.collect()
        with fail_after(10):
            await source.closed.wait()
            await idle(hub)
        assert source.ended_by is get_cancelled_exc_class()
        metrics = hub.metrics()
        assert (metrics.cancelled, metrics.handled, metrics.in_flight) == (1, 0, 0)


async def test_a_reader_that_is_cancelled_cancels_the_handler() -> None:
    source = Source()
    async with Hub() as hub:
        hub.register(source)
        async with create_task_group() as tasks:
            tasks.start_soon(read, hub, "source", 5)
            await wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        with fail_after(10):
            await source.closed.wait()
            await idle(hub)
        assert hub.metrics().cancelled == 1


async def test_an_error_comes_after_the_parts_before_it() -> None:
    async with Hub() as hub:
        hub.register("break", break_off)
        parts: list[int] = []
        with pytest.raises(HandlerFailed) as caught:
            await collect(hub.stream("break", 40, expect=int), parts)
        assert parts == list(range(40))
        assert isinstance(caught.value.cause, ZeroDivisionError)
        metrics = hub.metrics()
        assert (metrics.failed, metrics.handled) == (1, 0)


async def test_supervision_applies_to_an_error_in_a_stream() -> None:
    async with Hub() as hub:
        hub.register("break", break_off, supervision="stop")
        with pytest.raises(HandlerFailed):
            await read(hub, "break", 3)
        with fail_after(10):
            await hub.watch("break")


async def test_what_a_request_refuses_a_stream_refuses_at_the_first_part() -> None:
    hub = Hub()
    with pytest.raises(HubNotStarted):
        hub.stream("count", 1)
    async with hub:
        hub.register("count", count)
        with pytest.raises(AgentNotFound):
            await anext(hub.stream("nobody", 1))
        with pytest.raises(NoHandler):
            await anext(hub.stream("count", "text"))
        with pytest.raises(RequestTimeout, match="before the request was sent"):
            await anext(hub.stream("count", 1, timeout=0))
        stream = hub.stream("nobody", 1)
        with pytest.raises(AgentNotFound):
            await anext(stream)
        assert [part async for part in stream] == []
    with pytest.raises(HubStopped):
        await anext(hub.stream("count", 1))


@pytest.mark.parametrize(
    "options",
    [{"window": 0}, {"timeout": -1}, {"part_timeout": "x"}, {"expect": 3}, {"sender": ""}, {"headers": {"a": 1}}],
    ids=str,
)
async def test_arguments_are_checked_where_they_are_given(options: dict[str, Any]) -> None:
    async with Hub() as hub:
        with pytest.raises((InvalidArgument, TypeError, ValueError)):
            hub.stream("count", 1, **options)


async def test_a_part_of_another_class_ends_the_stream() -> None:
    async def mixed(number: int) -> AsyncIterator[object]:
        yield 1
        yield "two"
        yield 3

    async with Hub() as hub:
        hub.register("mixed", mixed)
        stream = hub.stream("mixed", 1, expect=int)
        assert await anext(stream) == 1
        with pytest.raises(UnexpectedReply, match="replied with str, not int"):
            await anext(stream)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        with fail_after(10):
            await idle(hub)


async def test_a_stream_has_one_reader_at_a_time() -> None:
    source = Source()
    async with Hub() as hub, create_task_group() as tasks:
        hub.register(source)
        stream = hub.stream("source", 0)

        async def wait() -> None:
            await anext(stream)

        tasks.start_soon(wait)
        await wait_all_tasks_blocked()
        with pytest.raises(BusyResourceError):
            await anext(stream)
        tasks.cancel_scope.cancel()


async def test_a_layer_that_takes_its_time_sends_once_and_not_for_a_reader_that_has_left() -> None:
    begun, gate = Flag(), Flag()

    class Slow:
        async def __call__(self, _: Context, proceed: Any) -> object:
            return await proceed()

        async def sending(self, outgoing: Any, send_on: Any) -> object:
            begun.set()
            await gate.wait()
            reply = await send_on(outgoing.headers)
            return "cached" if outgoing.data == 0 else reply

    with fail_after(10):
        async with Hub(middleware=[Slow()], grace=0) as hub:
            hub.register("count", count)
            parts = list[Any]()
            left, cached = hub.stream("count", 100), hub.stream("count", 0)
            async with create_task_group() as tasks:
                for stream in (left, cached, read_parts := hub.stream("count", 3)):
                    tasks.start_soon(collect, stream, parts)
                await begun.wait()
                await wait_all_tasks_blocked()
                with pytest.raises(BusyResourceError):
                    await anext(read_parts)
                await left.aclose()
                await cached.aclose()
                gate.set()
            assert parts == [0, 1, 2]
            assert (hub.metrics().accepted, hub.metrics().in_flight) == (1, 0)


async def test_the_deadline_of_the_whole_reply_ends_it_after_the_parts_before() -> None:
    clock, source = VirtualClock(), Source()
    async with Hub(clock=clock) as hub:
        hub.register(source)
        stream = hub.stream("source", 3, timeout=60)
        assert [await anext(stream) for _ in range(2)] == [0, 1]
        await clock.advance(61)
        assert await anext(stream) == 2
        with pytest.raises(RequestTimeout) as caught:
            await anext(stream)
        assert caught.value.stage == "handler"
        with fail_after(10):
            await source.closed.wait()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)


async def test_the_deadline_of_a_part_counts_while_it_is_waited_for() -> None:
    clock, source = VirtualClock(), Source()
    failures: list[RequestTimeout] = []
    async with Hub(clock=clock) as hub, create_task_group() as tasks:
        hub.register(source)
        stream = hub.stream("source", 3, timeout=None, part_timeout=5)
        for part in range(3):
            await clock.advance(60)  # the reader's own time does not count
            assert await anext(stream) == part

        async def listen() -> None:
            try:
                await anext(stream)
            except RequestTimeout as error:
                failures.append(error)

        tasks.start_soon(listen)
        await clock.advance(4)
        assert failures == []
        await clock.advance(2)
        with fail_after(10):
            await source.closed.wait()
            await idle(hub)
    assert [(error.stage, error.timeout) for error in failures] == [("part", 5)]


async def test_the_deadline_of_a_part_tells_that_the_request_has_not_begun() -> None:
    clock, source = VirtualClock(), Source()
    failures: list[RequestTimeout] = []
    with fail_after(10):
        async with Hub(clock=clock, grace=0) as hub, create_task_group() as tasks:
            hub.register(source)

            async def listen() -> None:
                try:
                    await anext(hub.stream("source", 0, timeout=None, part_timeout=5))
                except RequestTimeout as error:
                    failures.append(error)

            await hub.send("source", 0)
            await until(lambda: hub.metrics().agents["source"].running == 1)
            tasks.start_soon(listen)
            await until(lambda: hub.metrics().agents["source"].depth == 1)
            await clock.advance(6)
            await until(lambda: bool(failures))
    assert "still waiting in its mailbox" in str(failures[0])
    assert (failures[0].stage, failures[0].timeout) == ("turn", 5)


async def test_a_stream_inherits_the_deadline_of_the_request() -> None:
    source, clock = Source(), VirtualClock()

    async def ask(text: str, context: Context) -> None:
        async for _ in context.stream("source", 1):
            pass

    async with Hub(clock=clock) as hub, create_task_group() as tasks:
        hub.register(source)
        hub.register("ask", ask)

        async def request() -> None:
            with pytest.raises(RequestTimeout):
                await hub.request("ask", "", timeout=3)

        tasks.start_soon(request)
        await wait_all_tasks_blocked()
        await clock.advance(4)
        with fail_after(10):
            await source.closed.wait()


async def test_parts_go_through_agents_that_stream_what_they_read() -> None:
    async with Hub() as hub:
        hub.register("count", count)
        hub.register("relay", relay)
        assert await read(hub, "relay", 50) == [10 * number for number in range(50)]


async def test_a_circle_of_streams_is_found() -> None:
    async def again(number: int, context: Context) -> AsyncIterator[object]:
        yield number
        async for part in context.stream("again", number + 1):
            yield part

    async with Hub() as hub:
        hub.register("again", again)
        with pytest.raises(HandlerFailed) as caught:
            await read(hub, "again", 1)
        assert isinstance(caught.value.cause, RequestCycle)


async def test_messages_that_a_generator_sends_have_its_message_as_cause() -> None:
    seen: list[Message[str]] = []
    ids: list[str] = []

    async def note(message: Message[str]) -> None:
        seen.append(message)

    async def work(number: int, context: Context) -> AsyncIterator[int]:
        ids.append(context.message.id)
        for part in range(number):
            await context.send("note", "through the context")
            await context.hub.send("note", "through the hub")
            yield part

    async with Hub() as hub:
        hub.register("note", note)
        hub.register("work", work)
        await read(hub, "work", 2, trace="mine")
        with fail_after(10):
            await idle(hub)
    assert [(message.cause, message.trace) for message in seen] == [(ids[0], "mine")] * 4


@pytest.mark.parametrize("target", ["count", "double"])
async def test_a_stream_can_be_forwarded(target: str) -> None:
    async def hand_on(number: int, context: Context) -> None:
        await context.forward(target)

    async def begin(text: str, context: Context) -> AsyncIterator[str]:
        yield "first"
        await context.forward(target, 3)
        yield "ignored"

    expected = [0, 1, 2] if target == "count" else [6]
    async with Hub() as hub:
        hub.register("count", count)
        hub.register("double", double)
        hub.register("hand-on", hand_on)
        hub.register("begin", begin)
        assert await read(hub, "hand-on", 3) == expected
        assert await read(hub, "begin", "") == ["first", *expected]
        with fail_after(10):
            await idle(hub)


async def test_a_request_cannot_be_forwarded_to_a_generator() -> None:
    async def hand_on(number: int, context: Context) -> int:
        with pytest.raises(StreamedReply):
            await context.forward("count")
        return -1

    async with Hub() as hub:
        hub.register("count", count)
        hub.register("hand-on", hand_on)
        assert await hub.request("hand-on", 3) == -1


async def test_a_detached_handler_goes_on_without_its_reader() -> None:
    ended = Flag()

    async def work(number: int) -> AsyncIterator[int]:
        for part in range(number):
            yield part
        ended.set()

    async with Hub() as hub:
        hub.register("work", work, detach=True)
        async for _ in hub.stream("work", 1000):
            break
        with fail_after(10):
            await ended.wait()
            await idle(hub)
        metrics = hub.metrics()
        assert (metrics.handled, metrics.cancelled, metrics.late_replies) == (1, 0, 0)


async def test_unregistering_and_stopping_end_a_stream() -> None:
    source, other = Source(), Source("other")
    async with Hub() as hub:
        hub.register(source)
        hub.register(other)
        stream, second = hub.stream("source", 1, timeout=None), hub.stream("other", 1, timeout=None)
        assert (await anext(stream), await anext(second)) == (0, 0)
        await hub.unregister("source", drain=False)
        with pytest.raises(AgentStopped):
            await anext(stream)
        with fail_after(10):
            await hub.drain(timeout=0)
        with pytest.raises(HubStopped):
            await anext(second)
        assert hub.metrics().in_flight == 0


async def test_a_draining_hub_lets_readers_finish() -> None:
    async with Hub() as hub, create_task_group() as tasks:
        hub.register("count", count)
        stream = hub.stream("count", 100)
        assert await anext(stream) == 0
        tasks.start_soon(hub.drain)
        await wait_all_tasks_blocked()
        assert [part async for part in stream] == list(range(1, 100))


async def test_the_time_of_a_stream_includes_its_wait_for_room() -> None:
    source, clock = Source(), VirtualClock()
    async with Hub(clock=clock) as hub, create_task_group() as tasks:
        hub.register(source, mailbox=1)
        first = hub.stream("source", 1, timeout=None)
        assert await anext(first) == 0
        stages: list[str] = []

        async def refused(timeout: float) -> None:
            with pytest.raises(RequestTimeout) as caught:
                await anext(hub.stream("source", 1, timeout=timeout))
            stages.append(caught.value.stage)

        tasks.start_soon(refused, 3)
        await wait_all_tasks_blocked()
        tasks.start_soon(refused, 2)
        await wait_all_tasks_blocked()
        assert hub.metrics().agents["source"].blocked == 1
        await clock.advance(4)
        assert stages == ["room", "turn"]
        await first.aclose()


async def test_events_and_metrics_tell_of_parts() -> None:
    recorder = Recorder()
    async with Hub(observer=recorder) as hub:
        hub.register("count", count)
        hub.register("double", double)
        await read(hub, "count", 7)
        await read(hub, "double", 7)
        assert [event.parts for event in recorder.of(MessageHandled)] == [7, None]
        metrics = hub.metrics()
        assert (metrics.parts, metrics.agents["count"].parts, metrics.accepted) == (7, 7, 2)


async def test_middleware_is_around_the_whole_stream_once() -> None:
    log: list[object] = []

    async def layer(context: Context, proceed: Any) -> object:
        log.append("begin")
        result = await proceed()
        log.append(result)
        return "ignored" if context.agent == "count" else result

    class Sending:
        async def __call__(self, _: Context, proceed: Any) -> object:
            return await proceed()

        async def sending(self, outgoing: Any, send_on: Any) -> object:
            log.append(outgoing.recipient)
            return await send_on({"tenant": "7"})

    async def tenant(text: str, context: Context) -> AsyncIterator[str]:
        yield context.message.headers["tenant"]

    async with Hub(middleware=[layer, Sending()]) as hub:
        hub.register("count", count)
        hub.register("tenant", tenant)
        assert await read(hub, "count", 3) == [0, 1, 2]
        assert log == ["count", "begin", None]
        assert await read(hub, "tenant", "") == ["7"]


async def test_a_sending_layer_may_reply_itself_refuse_or_try_again() -> None:
    class Layer:
        async def __call__(self, _: Context, proceed: Any) -> object:
            return await proceed()

        async def sending(self, outgoing: Any, send_on: Any) -> object:
            if outgoing.data == 0:
                return "cached"
            if outgoing.data == 1:
                raise PermissionError("no")
            await send_on(outgoing.headers)
            return await send_on(outgoing.headers)

    async with Hub(middleware=[Layer()]) as hub:
        hub.register("count", count)
        assert await read(hub, "count", 0) == ["cached"]
        with pytest.raises(UnexpectedReply):
            await read(hub, "count", 0, expect=int)
        with pytest.raises(PermissionError):
            await read(hub, "count", 1)
        assert await read(hub, "count", 20) == list(range(20))
        with fail_after(10):
            await idle(hub)
        assert (hub.metrics().handled, hub.metrics().cancelled) == (1, 1)


async def test_a_hub_that_checks_payloads_streams() -> None:
    async with Hub(check_payloads=True) as hub:
        hub.register("count", count)
        assert await read(hub, "count", 3) == [0, 1, 2]


async def test_a_marked_method_of_a_class_streams() -> None:
    class Counter:
        id = "counter"

        @handles
        async def count(self, number: int) -> AsyncIterator[int]:
            for part in range(number):
                yield part

    async with Hub() as hub:
        hub.register("made", Counter)
        hub.register(Counter())
        assert await read(hub, "made", 2) == await read(hub, "counter", 2) == [0, 1]


async def test_a_stream_that_nobody_reads_is_not_sent() -> None:
    async with Hub() as hub:
        hub.register("count", count)
        stream = hub.stream("count", 3)
        await stream.aclose()
        async with hub.stream("count", 3):
            pass
        assert hub.metrics().sent == 0
        assert [part async for part in stream] == []


async def test_parts_wait_for_a_reader_after_the_handler_has_ended() -> None:
    async with Hub() as hub:
        hub.register("count", count)
        stream = hub.stream("count", 10)
        assert await anext(stream) == 0
        with fail_after(10):
            await idle(hub)
    assert [part async for part in stream] == list(range(1, 10))


async def test_a_generator_that_never_ends_by_itself_ends_with_the_hub() -> None:
    async def forever(text: str) -> AsyncIterator[int]:
        number = 0
        while True:
            yield number
            number += 1

    async with Hub(grace=0.01) as hub:
        hub.register("forever", forever)
        stream = hub.stream("forever", "", timeout=None)
        assert await anext(stream) == 0
    rest: list[object] = []
    with pytest.raises(HubStopped):
        await collect(stream, rest)
    assert rest == list(range(1, len(rest) + 1))


async def test_a_detached_handler_may_end_what_it_does_for_its_reader() -> None:
    log: list[str] = []
    ended = Flag()

    async def work(text: str, context: Context) -> AsyncIterator[str]:
        with context.while_read():
            yield text
            await sleep_forever()
        log.append("the rest")
        ended.set()

    async with Hub() as hub:
        hub.register("work", work, detach=True)
        with fail_after(10):
            async for part in hub.stream("work", "part", expect=str):
                log.append(part)
                break
            await ended.wait()
            await hub.send("work", "nobody reads")
            await idle(hub)
    assert log == ["part", "the rest", "the rest"]
    assert hub.metrics().handled == 2


async def test_a_stream_goes_over_a_bridge_and_so_does_leaving_it() -> None:
    source = Source()
    with fail_after(10):
        async with Hub("near") as near, Hub("far") as far:
            far.register("count", count)
            far.register("break", break_off)
            far.register(source)
            Bridge(near, far, map=["count@far", "break@far", "source@far"])
            assert await read(near, "count", 50, expect=int) == list(range(50))
            parts: list[int] = []
            with pytest.raises(HandlerFailed) as caught:
                await collect(near.stream("break", 3), parts)
            assert parts == [0, 1, 2]
            assert isinstance(caught.value.cause, ZeroDivisionError)
            with pytest.raises(StreamedReply):
                await near.request("count", 3)
            async with near.stream("source", 1000) as stream:
                assert await anext(stream) == 0
            await source.closed.wait()
            await idle(near)
            await idle(far)
