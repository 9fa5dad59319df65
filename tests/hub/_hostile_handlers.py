"""Handlers, middleware, hooks and factories that play a trick, and ways to have them called."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Literal

from anyio import sleep
from tests.hub._agents import Ping, Pong, echo
from tests.hub._hostile_errors import Odd
from tests.hub._hostile_stage import GRACE, LAST_WORDS, Play, Stage

from stagepost.hub import Context, Hub, Message, Proceed, Restart, Supervision, handles

OUR_FAILURE = 99


def handling(
    make: Callable[[Stage], object], *, supervision: Supervision = "resume", streams: bool = False, **options: Any
) -> Play:
    """Reach a handler by a request, or as a stream, and, one way, by a send; it goes on with the next message."""

    async def play(stage: Stage) -> None:
        stage.hub.register("victim", make(stage), supervision=supervision, **options)
        hangs, ask = stage.trick.result == "hangs", stage.read if streams else stage.ask
        stage.is_told(await ask())
        await stage.others_are_well()
        if not (hangs and options.get("detach")):
            await sleep(1)
            assert await ask(number=1, timeout=5) == "reply"
            stage.is_told(await ask())
            assert await ask(number=1, timeout=5) == "reply"
        await stage.hub.send("victim", Ping(0))
        await stage.others_are_well()
        await stage.is_dismissed(drain=not hangs)

    return play


def async_function(stage: Stage) -> object:
    async def work(ping: Ping) -> object:
        return Pong(1) if ping.number else await stage.later()

    return work


def sync_function(stage: Stage) -> object:
    def work(ping: Ping) -> object:
        return Pong(1) if ping.number else stage.now()

    return work


def generator(stage: Stage) -> object:
    async def work(ping: Ping) -> AsyncIterator[object]:
        yield Pong(0)
        yield Pong(1) if ping.number else await stage.later()
        yield Pong(2)

    return work


def sync_generator(stage: Stage) -> object:
    def work(ping: Ping) -> Iterator[object]:
        yield Pong(0)
        yield Pong(1) if ping.number else stage.now()

    return work


def with_context(stage: Stage) -> object:
    async def work(ping: Ping, context: Context) -> object:
        return Pong(1) if context.message.data.number else await stage.later()

    return work


def with_message(stage: Stage) -> object:
    async def work(message: Message[Ping]) -> object:
        return Pong(1) if message.data.number else await stage.later()

    return work


def method_class(stage: Stage) -> type:
    class Worker:
        @handles
        async def work(self, ping: Ping) -> object:
            return Pong(1) if ping.number else await stage.later()

    return Worker


def sync_method_class(stage: Stage) -> type:
    class Worker:
        @handles
        def work(self, ping: Ping) -> object:
            return Pong(1) if ping.number else stage.now()

    return Worker


def method_object(stage: Stage) -> object:
    return method_class(stage)()


def sync_method_object(stage: Stage) -> object:
    return sync_method_class(stage)()


def friendly(_: Stage) -> object:
    return echo


def callable_object(stage: Stage) -> object:
    class Work:
        async def __call__(self, ping: Ping) -> object:
            return Pong(1) if ping.number else await stage.later()

    return Work()


# -- middleware


def with_middleware(order: Literal["before", "after", "instead"]) -> Callable[[Stage], Hub]:
    def make(stage: Stage) -> Hub:
        async def layer(context: Context, proceed: Proceed) -> object:
            hostile = context.agent == "victim" and context.message.data == Ping(0)
            if not hostile or order == "after":
                reply = await proceed()
            if hostile:
                reply = await stage.later()
                if order == "before":
                    reply = await proceed()
            return reply

        return Hub(observer=stage.recorder, grace=GRACE, middleware=[layer])

    return make


# -- hooks and factories


def hooked_class(stage: Stage, hook: str, *, is_async: bool = True) -> type:
    class Worker:
        @handles
        async def work(self, ping: Ping) -> object:
            if ping.number == OUR_FAILURE:
                raise Odd
            return Pong(ping.number)

    async def later(self: object) -> object:
        return await stage.later()

    def now(self: object) -> object:
        return stage.now()

    return type("Hooked", (Worker,), {hook: later if is_async else now})


def start_class(stage: Stage) -> type:
    return hooked_class(stage, "on_start")


def sync_start_class(stage: Stage) -> type:
    return hooked_class(stage, "on_start", is_async=False)


def starting(make: Callable[[Stage], type], **options: Any) -> Play:
    """Reach what happens before the first message. If it fails, whoever asked is told, and the id can be used again."""

    async def play(stage: Stage) -> None:
        stage.hub.register("victim", make(stage), **options)
        outcome = await stage.ask(number=1)
        expected = {"returns": {"reply"}, "hangs": {"RequestTimeout"}}.get(stage.trick.result)
        assert outcome != "own"
        assert expected is None or outcome in expected
        assert outcome != "reply" or stage.trick.result != "raises" or stage.trick.later is None
        await stage.others_are_well()
        await sleep(1)
        await stage.is_dismissed(drain=False)

    return play


async def stopping(stage: Stage) -> None:
    """Reach what happens after the last message, when the agent leaves and when the hub does."""
    for agent in ("victim", "last"):
        stage.hub.register(agent, hooked_class(stage, "on_stop"))
        assert await stage.ask(agent, number=1) == "reply"
    await stage.is_dismissed()


async def stopping_now(stage: Stage) -> None:
    for agent in ("victim", "last"):
        stage.hub.register(agent, hooked_class(stage, "on_stop", is_async=False))
        assert await stage.ask(agent, number=1) == "reply"
    await stage.is_dismissed(drain=False)


async def restarting(stage: Stage) -> None:
    """Reach the hook of an instance that is replaced because of a failure."""
    stage.hub.register("victim", hooked_class(stage, "on_stop"), supervision=Restart(max=9, backoff=0.001))
    for _ in range(2):
        assert await stage.ask(number=OUR_FAILURE, timeout=LAST_WORDS) == "HandlerFailed"
        assert await stage.ask(number=1, timeout=LAST_WORDS) == "reply"
    await stage.is_dismissed()


def failing_factory(stage: Stage) -> type:
    class Worker:
        def __init__(self) -> None:
            stage.now()

        @handles
        async def work(self, ping: Ping) -> Pong:
            return Pong(ping.number)

    return Worker
