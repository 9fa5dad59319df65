"""Middleware on the sending side: around everything that is sent, whoever sends it."""

from collections.abc import Awaitable, Callable

import pytest
from anyio import fail_after, move_on_after, to_thread
from tests.hub._agents import Ping, Pong

from stagepost.hub import (
    AgentNotFound,
    Context,
    HandlerFailed,
    Hub,
    InvalidArgument,
    Message,
    MessageType,
    Outgoing,
    Proceed,
    SendOn,
    handles,
)
from stagepost.hub.testing import idle


class Sink:
    id = "sink"

    def __init__(self) -> None:
        self.seen: list[Message[Ping]] = []

    @handles
    async def take(self, message: Message[Ping]) -> Pong:
        self.seen.append(message)
        return Pong(message.data.number)


class Stamper:
    """A layer that adds a header and notes what is sent."""

    def __init__(self, name: str = "stamp") -> None:
        self.name = name
        self.seen: list[Outgoing] = []

    async def __call__(self, _: Context, proceed: Proceed) -> object:
        return await proceed()

    async def sending(self, outgoing: Outgoing, send_on: SendOn) -> object:
        self.seen.append(outgoing)
        return await send_on({**outgoing.headers, self.name: "yes"})


async def test_a_layer_is_around_everything_that_a_hub_sends() -> None:
    stamper, sink = Stamper(), Sink()
    with fail_after(5):
        async with Hub("main", middleware=[stamper]) as hub:
            hub.register(sink, topics=["pings"])
            await hub.send("sink", Ping(1), sender="me", headers={"a": "b"})
            assert await hub.request("sink", Ping(2), expect=Pong) == Pong(2)
            assert (await hub.publish("pings", Ping(3))).delivered == ("sink",)
            assert (await hub.broadcast(Ping(4))).delivered == ("sink",)
            await idle(hub)
    assert [message.headers["stamp"] for message in sink.seen] == ["yes"] * 4
    assert sink.seen[0].headers["a"] == "b"
    assert [(each.type, each.recipient, each.topic, each.sender) for each in stamper.seen] == [
        (MessageType.NOTIFICATION, "sink", None, "me"),
        (MessageType.REQUEST, "sink", None, None),
        (MessageType.BROADCAST, None, "pings", None),
        (MessageType.BROADCAST, None, None, None),
    ]
    assert {each.hub for each in stamper.seen} == {"main"}
    assert [each.data for each in stamper.seen] == [Ping(1), Ping(2), Ping(3), Ping(4)]


WAYS: dict[str, Callable[[Context], Awaitable[object]]] = {
    "send": lambda context: context.send("sink", Ping(1)),
    "request": lambda context: context.request("sink", Ping(1), expect=Pong),
    "publish": lambda context: context.publish("pings", Ping(1)),
    "broadcast": lambda context: context.broadcast(Ping(1)),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
async def test_what_a_handler_sends_passes_the_layers_once_and_keeps_its_cause(
    way: Callable[[Context], Awaitable[object]],
) -> None:
    stamper, sink, handled = Stamper(), Sink(), list[Message[object]]()

    async def act(_: str, context: Context) -> None:
        handled.append(context.message)
        await way(context)

    with fail_after(5):
        async with Hub(middleware=[stamper]) as hub:
            hub.register(sink, topics=["pings"])
            hub.register("actor", act)
            await hub.request("actor", "go")
            await idle(hub)
    (message,) = sink.seen
    assert (message.cause, message.trace, message.sender) == (handled[0].id, handled[0].trace, "actor")
    assert [each.sender for each in stamper.seen] == [None, "actor"]


async def test_the_first_layer_is_outside_and_later_ones_see_its_headers() -> None:
    outer, inner, sink = Stamper("outer"), Stamper("inner"), Sink()
    with fail_after(5):
        async with Hub(middleware=[outer, inner]) as hub:
            hub.register(sink)
            await hub.request("sink", Ping())
    assert dict(outer.seen[0].headers) == {}
    assert dict(inner.seen[0].headers) == {"outer": "yes"}
    assert dict(sink.seen[0].headers) == {"outer": "yes", "inner": "yes"}


async def test_a_layer_may_change_the_result_and_sees_errors() -> None:
    class Doubling(Stamper):
        async def sending(self, outgoing: Outgoing, send_on: SendOn) -> object:
            try:
                reply = await send_on(outgoing.headers)
            except AgentNotFound as error:
                return f"no {error.recipient}"
            return [reply, reply]

    with fail_after(5):
        async with Hub(middleware=[Doubling()]) as hub:
            hub.register(Sink())
            assert await hub.request("sink", Ping(1)) == [Pong(1), Pong(1)]
            assert await hub.request("nobody", Ping(1)) == "no nobody"


class Refusing(Stamper):
    async def sending(self, outgoing: Outgoing, send_on: SendOn) -> object:
        raise PermissionError(f"nobody sends to {outgoing.recipient}, {send_on} least of all")


async def test_what_a_layer_raises_reaches_the_sender_and_nobody_else() -> None:
    sink = Sink()
    with fail_after(5):
        async with Hub(middleware=[Refusing()]) as hub:
            hub.register(sink)
            for way in (hub.send, hub.request):
                with pytest.raises(PermissionError):
                    await way("sink", Ping())
    assert sink.seen == []


async def test_a_loop_over_refused_sends_lets_others_run() -> None:
    async with Hub(middleware=[Refusing()]) as hub:
        hub.register(Sink())
        with move_on_after(0.05) as scope:
            while True:
                with pytest.raises(PermissionError):
                    await hub.send("sink", Ping())
    assert scope.cancelled_caught


async def test_headers_are_checked_before_a_layer_sees_them() -> None:
    stamper = Stamper()
    async with Hub(middleware=[stamper]) as hub:
        hub.register(Sink())
        with pytest.raises(InvalidArgument, match="headers"):
            await hub.send("sink", Ping(), headers=["no"])  # type: ignore[arg-type]  # that is the point
    assert stamper.seen == []


class Only:
    """A layer that has nothing to do with handling."""

    async def sending(self, outgoing: Outgoing, send_on: SendOn) -> object:
        return await send_on({**outgoing.headers, "only": "yes"})


async def test_a_layer_may_be_around_sending_only() -> None:
    sink = Sink()
    with fail_after(5):
        async with Hub(middleware=[Only()]) as hub:
            hub.register(sink)
            assert await hub.request("sink", Ping(1)) == Pong(1)
    assert dict(sink.seen[0].headers) == {"only": "yes"}


async def test_calls_of_other_threads_pass_the_layers() -> None:
    stamper, sink = Stamper(), Sink()
    with fail_after(10):
        async with Hub(middleware=[stamper]) as hub:
            hub.register(sink, topics=["pings"])
            portal = hub.portal()

            def work() -> None:
                portal.send("sink", Ping(1))
                assert portal.request("sink", Ping(2)) == Pong(2)
                assert portal.publish("pings", Ping(3)).delivered == ("sink",)
                assert dict(portal.request_many("pings", Ping(4)).received) == {"sink": Pong(4)}

            await to_thread.run_sync(work)
            await idle(hub)
    assert [message.headers["stamp"] for message in sink.seen] == ["yes"] * 4
    assert len(stamper.seen) == 4


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), BaseExceptionGroup("two", [SystemExit(1)])])
async def test_whatever_a_layer_raises_fails_only_the_handler_that_sends(error: BaseException) -> None:
    class Hostile:
        async def sending(self, outgoing: Outgoing, send_on: SendOn) -> object:
            if outgoing.recipient == "sink":
                raise error
            return await send_on(outgoing.headers)

    async def act(text: str, context: Context) -> None:
        await context.send("sink", Ping())

    with fail_after(10):
        async with Hub(middleware=[Hostile()]) as hub:
            hub.register(Sink())
            hub.register("actor", act)
            for _ in range(2):
                with pytest.raises(HandlerFailed):
                    await hub.request("actor", "go")
            assert hub.metrics().failed == 2


async def test_a_forwarded_message_keeps_its_headers_and_does_not_pass_the_layers_again() -> None:
    stamper, sink = Stamper(), Sink()

    async def hand_on(ping: Ping, context: Context) -> None:
        await context.forward("sink")

    with fail_after(5):
        async with Hub(middleware=[stamper]) as hub:
            hub.register(sink)
            hub.register("first", hand_on)
            assert await hub.request("first", Ping(1), headers={"a": "b"}) == Pong(1)
    assert dict(sink.seen[0].headers) == {"a": "b", "stamp": "yes"}
    assert len(stamper.seen) == 1
