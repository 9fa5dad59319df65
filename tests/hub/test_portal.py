"""Other threads call a hub through a portal."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import anyio
import pytest
from anyio import create_task_group, fail_after, to_thread
from anyio.abc import TaskGroup
from tests.hub._agents import Gate, Ping, Pong, echo, fail, until
from tests.hub._streams import Source, break_off, count

from stagepost.hub import (
    AgentNotFound,
    Context,
    HandlerFailed,
    Hub,
    HubNotStarted,
    HubStopped,
    LoopWouldBlock,
    Message,
    Portal,
    RequestCycle,
    RequestTimeout,
    UnexpectedReply,
    WrongThread,
)
from stagepost.hub._crossing import Crossings
from stagepost.hub.testing import Probe, idle


async def in_thread(call: Callable[[], object]) -> Any:
    """Call in a thread that knows nothing of the loop."""
    future: Future[object] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - the test is told
            future.set_exception(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    await until(future.done)
    return future.result()


async def test_a_thread_sends_requests_and_publishes() -> None:
    probe, other = Probe("probe"), Probe("other")

    def work(portal: Portal) -> object:
        portal.send("probe", Ping(1), headers={"a": "b"}, trace="t")
        delivery = portal.publish("news", Ping(2), sender="me")
        everyone = portal.broadcast(Ping(3), sender="probe")
        return delivery.delivered, everyone.delivered, portal.request("echo", Ping(4), expect=Pong)

    with fail_after(5):
        async with Hub() as hub:
            hub.register(probe, topics="news")
            hub.register(other)
            hub.register("echo", echo)
            assert await in_thread(partial(work, hub.portal())) == (("probe",), ("other", "echo"), Pong(4))
            await idle(hub)
    assert [message.data.number for message in probe.messages] == [1, 2]
    assert (probe.messages[0].headers, probe.messages[0].trace) == ({"a": "b"}, "t")
    assert (probe.messages[1].sender, probe.messages[1].topic) == ("me", "news")


async def test_what_a_hub_raises_a_portal_raises() -> None:
    calls: list[tuple[type[Exception], Callable[[Portal], object]]] = [
        (AgentNotFound, lambda portal: portal.send("nobody", Ping())),
        (HandlerFailed, lambda portal: portal.request("bad", Ping())),
        (RequestTimeout, lambda portal: portal.request("gate", Ping(), timeout=0.01)),
        (UnexpectedReply, lambda portal: portal.request("echo", Ping(), expect=str)),
    ]
    with fail_after(5):
        async with Hub(grace=0) as hub:
            hub.register("echo", echo)
            hub.register("bad", fail)
            hub.register(Gate())
            for error, call in calls:
                with pytest.raises(error):
                    await in_thread(partial(call, hub.portal()))


async def test_many_threads_call_at_once() -> None:
    async with Hub() as hub:
        hub.register("echo", echo)
        portal = hub.portal()

        def work() -> list[object]:
            with ThreadPoolExecutor(8) as pool:
                return list(pool.map(lambda number: portal.request("echo", Ping(number)), range(200)))

        with fail_after(20):
            assert await to_thread.run_sync(work) == [Pong(number) for number in range(200)]
        assert hub.metrics().handled == 200


async def test_a_portal_is_made_before_its_hub_runs_and_kept_after_it() -> None:
    hub = Hub("main")
    hub.register("echo", echo)
    portal = hub.portal()
    with fail_after(5):
        with pytest.raises(HubNotStarted):
            await in_thread(lambda: portal.send("echo", Ping()))
        async with hub:
            assert await in_thread(lambda: portal.request("echo", Ping(1))) == Pong(1)
        with pytest.raises(HubStopped, match="main"):
            await in_thread(lambda: portal.send("echo", Ping()))


@pytest.mark.parametrize("name", ["send", "request", "publish", "broadcast"])
async def test_a_call_where_a_loop_runs_is_refused_at_once(name: str) -> None:
    def call(portal: Portal) -> None:
        arguments = (Ping(),) if name == "broadcast" else ("echo", Ping())
        getattr(portal, name)(*arguments)

    async def elsewhere(portal: Portal) -> None:
        call(portal)

    with fail_after(5):
        async with Hub("main") as hub:
            hub.register("echo", echo)
            with pytest.raises(LoopWouldBlock, match=f"{name} of a portal to hub 'main'.*await hub.{name}") as caught:
                call(hub.portal())
            assert isinstance(caught.value, WrongThread)
            for backend in ("asyncio", "trio"):
                with pytest.raises(LoopWouldBlock):
                    await to_thread.run_sync(partial(anyio.run, elsewhere, hub.portal(), backend=backend))
            assert hub.metrics().accepted == 0


async def test_a_call_in_a_handlers_thread_belongs_to_the_message() -> None:
    probe = Probe("probe")

    async def relay(message: Message[Ping], context: Context) -> str:
        def work() -> None:
            context.hub.portal().send("probe", message.data)

        await to_thread.run_sync(work)
        return message.id

    with fail_after(5):
        async with Hub() as hub:
            hub.register(probe)
            hub.register("relay", relay)
            cause = await hub.request("relay", Ping(), trace="t")
            await idle(hub)
    assert (probe.messages[0].cause, probe.messages[0].trace) == (cause, "t")


async def test_a_circle_through_a_thread_is_found() -> None:
    async def ask_itself(ping: Ping, context: Context) -> None:
        await to_thread.run_sync(lambda: context.hub.portal().request("self", ping))

    with fail_after(5):
        async with Hub() as hub:
            hub.register("self", ask_itself)
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("self", Ping())
            assert isinstance(caught.value.cause, RequestCycle)


async def test_calls_that_are_open_end_with_the_hub() -> None:
    gate, errors = Gate(), list[BaseException]()

    async def ask(hub: Hub) -> None:
        try:
            await in_thread(lambda: hub.portal().request("gate", Ping(), timeout=None))
        except HubStopped as error:
            errors.append(error)

    with fail_after(10):
        async with create_task_group() as tasks, Hub(grace=0) as hub:
            hub.register(gate, mailbox=1)
            for _ in range(5):
                tasks.start_soon(ask, hub)
            await gate.entered.wait()
            await until(lambda: hub.metrics().blocked == 3)
    assert len(errors) == 5


async def test_a_call_that_waits_for_room_ends_with_a_hub_that_fails() -> None:
    gate, ends = Gate(), list[bool]()

    async def ask(hub: Hub) -> None:
        try:
            delivery = await in_thread(lambda: hub.portal().publish("a", Ping(), timeout=None))
        except HubStopped:
            ends.append(True)
        else:  # the call was told before its task was cancelled
            ends.append(delivery.stopped == ("gate",))

    async def end_by_an_error(tasks: TaskGroup) -> None:
        async with Hub() as hub:
            hub.register(gate, mailbox=1, topics="a")
            for _ in range(2):
                await hub.send("gate", Ping())
                await gate.entered.wait()
            tasks.start_soon(ask, hub)
            await until(lambda: hub.metrics().blocked == 1)
            raise ZeroDivisionError

    with fail_after(10):
        async with create_task_group() as tasks:
            with pytest.raises(ZeroDivisionError):
                await end_by_an_error(tasks)
    assert ends == [True]


async def test_a_call_that_comes_when_the_loop_has_no_time_for_it_any_more_is_refused() -> None:
    called = threading.Event()
    thread_ended: list[object] = []

    def work(portal: Portal) -> None:
        called.set()
        try:
            portal.send("echo", Ping())
        except HubStopped:
            thread_ended.append("refused")

    with fail_after(10):
        async with Hub() as hub:
            hub.register("echo", echo)
            crossings = hub.crossings()
            assert crossings is not None
            kept: list[Callable[[], object]] = []
            crossings._call_soon = kept.append  # as a loop that ends before it comes to this
            thread = threading.Thread(target=work, args=[hub.portal()])
            thread.start()
            await until(lambda: len(kept) == 1)
        await until(lambda: not thread.is_alive())
        assert thread_ended == ["refused"]
        kept[0]()  # it comes to it after all: the hub has ended


async def test_a_thread_that_gives_up_takes_its_request_back() -> None:
    """As an interrupt from the keyboard does in the main thread."""
    gate = Gate()
    with fail_after(10):
        async with Hub() as hub:
            hub.register(gate)
            crossings = hub.crossings()
            assert crossings is not None
            thread = threading.Thread(target=_quietly, args=[hub.portal(), "gate"], daemon=True)
            thread.start()
            await gate.entered.wait()
            (crossing,) = crossings._open
            crossings._give_up(crossing)
            await gate.cancelled.wait()
            await until(crossing.future.done)
            crossings._give_up(crossing)
    assert hub.metrics().cancelled == 1
    assert isinstance(crossing.future.exception(), CancelledError)


async def test_a_call_given_up_before_it_begins_is_not_made() -> None:
    with fail_after(10):
        async with Hub() as hub:
            hub.register("echo", echo)
            crossings = hub.crossings()
            assert crossings is not None
            begin, crossings._call_soon = crossings._call_soon, lambda _: None
            thread = threading.Thread(target=_quietly, args=[hub.portal(), "echo"])
            thread.start()
            await until(lambda: len(crossings._open) == 1)
            (crossing,) = crossings._open
            crossing.give_up()
            begin(partial(crossings._begin, crossing, "echo"))
            await until(lambda: not thread.is_alive())
    assert hub.metrics().handled == 0


def _quietly(portal: Portal, agent: str) -> None:
    try:
        portal.request(agent, Ping())
    except CancelledError:
        return


def test_a_hub_whose_loop_has_ended_refuses() -> None:
    hub = Hub()
    hub.register("echo", echo)

    async def main() -> None:
        await hub.__aenter__()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    crossings = hub.crossings()
    assert crossings is not None
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(_refused, hub.portal())
        loop.run_until_complete(asyncio.wait_for(asyncio.wrap_future(waiting, loop=loop), 5))
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        assert pool.submit(_refused, hub.portal()).result(5) is True
    assert waiting.result() is False


def _refused(portal: Portal) -> bool:
    try:
        portal.send("echo", Ping())
    except HubStopped:
        return True
    return False


async def test_a_call_that_comes_after_the_last_task_of_a_hub_is_refused() -> None:
    def no_more(*_: object) -> None:
        raise RuntimeError("This task group is not active")

    crossings = Crossings("main", lambda begin: begin(), no_more, no_more)
    with fail_after(5), pytest.raises(HubStopped, match="main"):
        await in_thread(lambda: crossings.call(anyio.sleep_forever, "x"))


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_call_whose_task_somebody_cancels_harms_nobody_else() -> None:
    gate, errors = Gate(), list[BaseException]()

    async def ask(hub: Hub) -> None:
        try:
            await in_thread(lambda: hub.portal().request("gate", Ping()))
        except CancelledError as error:
            errors.append(error)

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate)
            hub.register("echo", echo)
            tasks.start_soon(ask, hub)
            await gate.entered.wait()
            for task in asyncio.all_tasks():
                if task.get_name() == "stagepost call from a thread":
                    task.cancel()
            await until(lambda: len(errors) == 1)
            assert await hub.request("echo", Ping(1)) == Pong(1)


async def test_an_interrupt_in_the_task_of_a_call_ends_the_hub() -> None:
    async def interrupted() -> None:
        raise KeyboardInterrupt

    async def call() -> None:
        async with Hub() as hub:
            crossings = hub.crossings()
            assert crossings is not None
            with pytest.raises(CancelledError):
                await in_thread(lambda: crossings.call(interrupted, "x"))
            await anyio.sleep(5)

    with fail_after(5), pytest.raises(KeyboardInterrupt):
        await call()


async def test_a_thread_reads_a_stream() -> None:
    def work(portal: Portal) -> object:
        parts = list(portal.stream("count", 100, expect=int))
        with portal.stream("source", 50) as stream:
            some = [next(stream) for _ in range(20)]
        for _ in portal.stream("source", 50):
            break
        return parts, some, list(stream)

    source = Source()
    with fail_after(10):
        async with Hub() as hub:
            hub.register("count", count)
            hub.register(source)
            parts, some, rest = await in_thread(partial(work, hub.portal()))
            assert (parts, some, rest) == (list(range(100)), list(range(20)), [])
            await idle(hub)
            assert (hub.metrics().handled, hub.metrics().cancelled) == (1, 2)


async def test_a_stream_in_a_thread_ends_by_an_error_after_the_parts_before() -> None:
    def work(portal: Portal, agent: str, expect: type[object]) -> list[object]:
        stream, parts = portal.stream(agent, 3, expect=expect), deque[object]()
        with pytest.raises((HandlerFailed, UnexpectedReply)):
            parts.extend(stream)
        assert list(stream) == []
        return list(parts)

    async def mixed(number: int) -> AsyncIterator[object]:
        yield number
        yield "text"

    with fail_after(10):
        async with Hub() as hub:
            hub.register("break", break_off)
            hub.register("mixed", mixed)
            assert await in_thread(partial(work, hub.portal(), "break", object)) == [0, 1, 2]
            assert await in_thread(partial(work, hub.portal(), "mixed", int)) == [3]


async def test_a_stream_in_a_thread_ends_with_the_hub() -> None:
    def begin(portal: Portal) -> Any:
        stream = portal.stream("source", 1)
        return next(stream), stream

    def go_on(stream: Any) -> object:
        with pytest.raises(HubStopped):
            next(stream)
        stream.close()
        return True

    source = Source()
    with fail_after(10):
        async with Hub(grace=0) as hub:
            hub.register(source)
            part, stream = await in_thread(partial(begin, hub.portal()))
            assert part == 0
            with pytest.raises(LoopWouldBlock):
                next(stream)
        assert await in_thread(partial(go_on, stream))


async def test_a_stream_is_read_in_the_thread_of_its_hub() -> None:
    def read(stream: Any) -> object:
        return asyncio.run(anext_of(stream))

    async def anext_of(stream: Any) -> object:
        return await anext(stream)

    with fail_after(10):
        async with Hub() as hub:
            hub.register("count", count)
            stream = hub.stream("count", 20)
            for _ in range(2):
                with pytest.raises(WrongThread):
                    await to_thread.run_sync(read, stream)
                assert await anext(stream) in (0, 1)
            await stream.aclose()
