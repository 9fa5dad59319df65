"""What a message inherits: cause, trace, deadline, and who waits, however it was sent."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest
from anyio import Event, create_task_group, fail_after
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, until

from stagepost.hub import Context, HandlerFailed, Hub, HubStopped, Message, RequestCycle, RequestTimeout, handles
from stagepost.hub.testing import idle

Ways: TypeAlias = dict[str, Callable[[Context], Awaitable[object]]]

SENDS: Ways = {
    "context.send": lambda context: context.send("sink", Ping(1)),
    "context.request": lambda context: context.request("sink", Ping(1)),
    "context.publish": lambda context: context.publish("sinks", Ping(1)),
    "context.broadcast": lambda context: context.broadcast(Ping(1)),
    "hub.send": lambda context: context.hub.send("sink", Ping(1)),
    "hub.request": lambda context: context.hub.request("sink", Ping(1)),
    "hub.publish": lambda context: context.hub.publish("sinks", Ping(1)),
    "hub.broadcast": lambda context: context.hub.broadcast(Ping(1)),
}


class Sink:
    id = "sink"

    def __init__(self) -> None:
        self.seen: list[Message[Ping]] = []

    @handles
    async def take(self, message: Message[Ping]) -> Pong:
        self.seen.append(message)
        return Pong(message.data.number)


@pytest.mark.parametrize("place", ["handler", "task of it"])
@pytest.mark.parametrize("way", SENDS.values(), ids=SENDS)
async def test_what_a_handler_sends_carries_cause_trace_and_deadline(
    way: Callable[[Context], Awaitable[object]], place: str
) -> None:
    handled: list[Message[Any]] = []
    sink = Sink()

    async def go(context: Context) -> None:
        await way(context)

    async def act(_: str, context: Context) -> None:
        handled.append(context.message)
        if place == "task of it":
            async with create_task_group() as tasks:
                tasks.start_soon(go, context)
        else:
            await way(context)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("act", act)
            hub.register(sink, topics=["sinks"])
            await hub.request("act", "go", trace="t-1", timeout=40)
            await idle(hub)
    (message,), (origin,) = sink.seen, handled
    assert (message.cause, message.trace) == (origin.id, "t-1")
    if message.type == "request":
        assert message.chain == ("act",)
        assert message.deadline == pytest.approx(origin.deadline)


@pytest.mark.parametrize("way", SENDS.values(), ids=SENDS)
async def test_a_task_that_outlives_its_handler_keeps_the_cause_and_nobody_who_waits(
    way: Callable[[Context], Awaitable[object]],
) -> None:
    handled: list[Message[Any]] = []
    sink, go = Sink(), Event()

    async def later(context: Context) -> None:
        await go.wait()
        await way(context)

    async def act(text: str, context: Context) -> None:
        if text == "first":
            handled.append(context.message)
            outside.start_soon(later, context)
        else:
            go.set()
            await until(lambda: bool(sink.seen))

    with fail_after(5):
        async with Hub() as hub, create_task_group() as outside:
            hub.register("act", act)
            hub.register(sink, topics=["sinks"])
            await hub.request("act", "first", trace="t-1", timeout=20)
            await hub.request("act", "second", trace="t-2", timeout=10)
    (message,), (origin,) = sink.seen, handled
    assert (message.cause, message.trace, message.chain) == (origin.id, "t-1", ())
    if message.type == "request":
        assert message.deadline is not None
        assert message.deadline > message.timestamp + 25


async def circle_by_request(ping: Ping, context: Context) -> object:
    return await context.request("a", ping)


async def circle_by_hub(ping: Ping, context: Context) -> object:
    return await context.hub.request("a", ping)


async def circle_by_child(ping: Ping, context: Context) -> object:
    replies: list[object] = []

    async def ask() -> None:
        replies.append(await context.hub.request("a", ping))

    async with create_task_group() as tasks:
        tasks.start_soon(ask)
    return replies


async def circle_by_forward(ping: Ping, context: Context) -> None:
    await context.forward("a")


async def circle_by_third(ping: Ping, context: Context) -> None:
    await context.forward("c")


CLOSE = [circle_by_request, circle_by_hub, circle_by_child, circle_by_forward, circle_by_third]


@pytest.mark.parametrize("start", ["context", "hub"])
@pytest.mark.parametrize("close", CLOSE, ids=[close.__name__ for close in CLOSE])
async def test_a_circle_is_found_at_once_however_it_is_closed(
    close: Callable[[Ping, Context], Awaitable[object]], start: str
) -> None:
    async def a(ping: Ping, context: Context) -> object:
        return await (context if start == "context" else context.hub).request("b", ping)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("a", a)
            hub.register("b", close)
            hub.register("c", circle_by_hub)
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("a", Ping(), timeout=None)
    error: BaseException | None = caught.value
    while isinstance(error, HandlerFailed | ExceptionGroup):
        error = error.cause if isinstance(error, HandlerFailed) else error.exceptions[0]
    assert isinstance(error, RequestCycle)
    assert error.chain[0] == error.chain[-1] == "a"


async def test_who_asks_itself_over_the_hub_is_told_at_once() -> None:
    async def ask(ping: Ping, context: Context) -> object:
        return await context.hub.request("ask", ping, timeout=None)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("ask", ask)
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("ask", Ping())
    assert isinstance(caught.value.cause, RequestCycle)


async def test_who_has_handed_its_request_on_may_ask_the_requester() -> None:
    answers: list[object] = []

    class Asker:
        id = "asker"

        @handles
        async def start(self, _: str, context: Context) -> object:
            return await context.request("front", Ping(1))

        @handles
        async def answer(self, ping: Ping) -> Pong:
            return Pong(ping.number)

    async def front(ping: Ping, context: Context) -> None:
        await context.forward("back")
        answers.append(await context.request("asker", Ping(2)))

    gate = Gate("back")
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(Asker())
            hub.register("front", front)
            hub.register(gate)
            tasks.start_soon(hub.request, "asker", "go")
            await gate.entered.wait()
            gate.opened.set()
            await until(lambda: bool(answers))
    assert answers == [Pong(2)]


async def test_a_detached_handler_may_ask_a_requester_that_has_given_up() -> None:
    answers: list[object] = []
    given_up, busy = Event(), Gate("busy")

    class Asker:
        id = "asker"

        @handles
        async def start(self, _: str, context: Context) -> None:
            try:
                await context.request("slow", Ping(1), timeout=0.01)
            except RequestTimeout:
                given_up.set()
            await until(lambda: hub.metrics().depths.get("asker") == 1)

        @handles
        async def answer(self, ping: Ping) -> Pong:
            return Pong(ping.number)

    async def slow(ping: Ping, context: Context) -> None:
        await given_up.wait()
        answers.append(await context.request("asker", Ping(2)))

    with fail_after(5):
        async with Hub() as hub:
            hub.register(Asker())
            hub.register(busy)
            hub.register("slow", slow, detach=True)
            await hub.request("asker", "go")
            await until(lambda: bool(answers))
    assert answers == [Pong(2)]


async def test_a_task_whose_handler_has_ended_is_outside_when_the_hub_drains() -> None:
    refused: list[HubStopped] = []
    gate, draining = Gate(), Event()

    async def later(hub: Hub) -> None:
        await draining.wait()
        try:
            await hub.send("gate", Ping(9))
        except HubStopped as error:
            refused.append(error)

    async def act(text: str, context: Context) -> None:
        outside.start_soon(later, context.hub)

    async def stop(hub: Hub, tasks: TaskGroup) -> None:
        await hub.drain(timeout=None)

    with fail_after(5):
        async with create_task_group() as outside, Hub() as hub:
            hub.register("act", act)
            hub.register(gate)
            await hub.request("act", "go")
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            outside.start_soon(stop, hub, outside)
            await checkpoint()
            await checkpoint()
            draining.set()
            await until(lambda: bool(refused))
            gate.opened.set()
    assert gate.seen == [0]


def message(hub_id: str) -> Message[int]:
    return Message(id=hub_id, sender=None, recipient="x", type="request", data=1, timestamp=0.0, trace="t-9")  # type: ignore[arg-type]  # text will do


CAUSED: dict[str, Callable[[Hub, Message[int] | str], Awaitable[object]]] = {
    "send": lambda hub, cause: hub.send("sink", Ping(), cause=cause),
    "request": lambda hub, cause: hub.request("sink", Ping(), cause=cause),
    "publish": lambda hub, cause: hub.publish("sinks", Ping(), cause=cause),
    "broadcast": lambda hub, cause: hub.broadcast(Ping(), cause=cause),
}


@pytest.mark.parametrize("way", CAUSED.values(), ids=CAUSED)
async def test_a_cause_from_elsewhere_is_carried_on(
    way: Callable[[Hub, Message[int] | str], Awaitable[object]],
) -> None:
    sink = Sink()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(sink, topics=["sinks"])
            await way(hub, message("m-1"))
            await way(hub, "m-2")
            await hub.publish("sinks", Ping(), cause=message("m-3"), trace="mine")
            await idle(hub)
    first, second, third = sink.seen
    assert (first.cause, first.trace) == ("m-1", "t-9")
    assert (second.cause, second.trace) == ("m-2", second.id)
    assert (third.cause, third.trace) == ("m-3", "mine")


async def test_a_cause_given_in_a_handler_does_not_hide_who_waits() -> None:
    async def a(ping: Ping, context: Context) -> object:
        return await context.hub.request("a", ping, cause="elsewhere", trace="t")

    with fail_after(5):
        async with Hub() as hub:
            hub.register("a", a)
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("a", Ping())
    assert isinstance(caught.value.cause, RequestCycle)


async def test_a_handler_of_another_hub_is_no_cause() -> None:
    sink = Sink()

    async def act(text: str) -> None:
        await other.send("sink", Ping())

    with fail_after(5):
        async with Hub("one") as hub, Hub("two") as other:
            hub.register("act", act)
            other.register(sink)
            await hub.request("act", "go", trace="t-1")
            await idle(other)
    assert (sink.seen[0].cause, sink.seen[0].trace) == (None, sink.seen[0].id)


async def test_an_agent_is_not_named_as_sender_of_what_its_handler_sends_over_the_hub() -> None:
    sink = Sink()

    async def act(text: str, context: Context) -> None:
        await context.hub.send("sink", Ping(1))
        await context.hub.send("sink", Ping(2), sender="me")
        await context.send("sink", Ping(3))

    with fail_after(5):
        async with Hub() as hub:
            hub.register("act", act)
            hub.register(sink)
            await hub.request("act", "go")
            await idle(hub)
    assert [message.sender for message in sink.seen] == [None, "me", "act"]
