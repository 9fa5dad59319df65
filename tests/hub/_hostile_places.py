"""Every place where the hub calls somebody else's code, and a way to have it called there."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import anyio.lowlevel
from anyio import fail_after, sleep
from tests.hub._agents import Ping, Pong, echo
from tests.hub._hostile_stage import GRACE, LAST_WORDS, Stage
from tests.hub._hostile_tricks import Odd

from stagepost.hub import (
    Context,
    Event,
    Hub,
    HubConfig,
    Level,
    Message,
    MultiObserver,
    Observer,
    Proceed,
    Queued,
    Registry,
    Restart,
    Supervision,
    handles,
)

OUR_FAILURE = 99


@dataclass(frozen=True)
class Place:
    """A place: what is called there (a plain function, or an async one), the hub for it, and how it is reached.

    Where `is_varied`, another place is much the same, and the essential tricks do. Where not `is_reached`, it is called
    in another thread, or by others, if at all: a `KeyboardInterrupt` does not come from there.
    """

    id: str
    calls: Literal["now", "later"]
    play: Callable[[Stage], Awaitable[None]]
    hub: Callable[[Stage], Hub] | None = None
    is_reached: bool = True
    is_varied: bool = False

    def hub_for(self, stage: Stage) -> Hub:
        """The hub to play on."""
        return self.hub(stage) if self.hub is not None else Hub(observer=stage.recorder, grace=GRACE)


# -- handlers


def _handler(make: Callable[[Stage], object], *, supervision: Supervision = "resume", **options: Any) -> Any:
    """Reach a handler by a request and, one way, by a send; it goes on with the next message."""

    async def play(stage: Stage) -> None:
        stage.hub.register("victim", make(stage), supervision=supervision, **options)
        hangs = stage.trick.result == "hangs"
        stage.is_told(await stage.ask())
        await stage.others_are_well()
        if not (hangs and options.get("detach")):
            await sleep(1)
            assert await stage.ask(number=1, timeout=5) == "reply"
            stage.is_told(await stage.ask())
            assert await stage.ask(number=1, timeout=5) == "reply"
        await stage.hub.send("victim", Ping(0))
        await stage.others_are_well()
        await stage.is_dismissed(drain=not hangs)

    return play


def _async_function(stage: Stage) -> object:
    async def work(ping: Ping) -> object:
        return Pong(1) if ping.number else await stage.later()

    return work


def _function(stage: Stage) -> object:
    def work(ping: Ping) -> object:
        return Pong(1) if ping.number else stage.now()

    return work


def _with_context(stage: Stage) -> object:
    async def work(ping: Ping, context: Context) -> object:
        return Pong(1) if context.message.data.number else await stage.later()

    return work


def _with_message(stage: Stage) -> object:
    async def work(message: Message[Ping]) -> object:
        return Pong(1) if message.data.number else await stage.later()

    return work


def _method_class(stage: Stage) -> type:
    class Worker:
        @handles
        async def work(self, ping: Ping) -> object:
            return Pong(1) if ping.number else await stage.later()

    return Worker


def _sync_method_class(stage: Stage) -> type:
    class Worker:
        @handles
        def work(self, ping: Ping) -> object:
            return Pong(1) if ping.number else stage.now()

    return Worker


def _callable(stage: Stage) -> object:
    class Work:
        async def __call__(self, ping: Ping) -> object:
            return Pong(1) if ping.number else await stage.later()

    return Work()


# -- middleware


def _with_middleware(order: Literal["before", "after", "instead"]) -> Callable[[Stage], Hub]:
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


def _hooked(stage: Stage, hook: str, *, is_async: bool = True) -> type:
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


def _start(make: Callable[[Stage], type], **options: Any) -> Any:
    """Reach what happens before the first message. If it fails, whoever asked is told, and the id can be used again."""

    async def play(stage: Stage) -> None:
        stage.hub.register("victim", make(stage), **options)
        outcome = await stage.ask(number=1)
        expected = {"returns": {"reply"}, "hangs": {"RequestTimeout"}}.get(stage.trick.result)
        assert outcome != "own"
        assert expected is None or outcome in expected
        assert outcome != "reply" or stage.trick.result != "raises"
        await stage.others_are_well()
        await sleep(1)
        await stage.is_dismissed(drain=False)

    return play


async def _stop(stage: Stage) -> None:
    """Reach what happens after the last message, when the agent leaves and when the hub does."""
    for agent in ("victim", "last"):
        stage.hub.register(agent, _hooked(stage, "on_stop"))
        assert await stage.ask(agent, number=1) == "reply"
    await stage.is_dismissed()


async def _stop_now(stage: Stage) -> None:
    for agent in ("victim", "last"):
        stage.hub.register(agent, _hooked(stage, "on_stop", is_async=False))
        assert await stage.ask(agent, number=1) == "reply"
    await stage.is_dismissed(drain=False)


async def _restart(stage: Stage) -> None:
    """Reach the hook of an instance that is replaced because of a failure."""
    stage.hub.register("victim", _hooked(stage, "on_stop"), supervision=Restart(max=9, backoff=0.001))
    for _ in range(2):
        assert await stage.ask(number=OUR_FAILURE, timeout=LAST_WORDS) == "HandlerFailed"
        assert await stage.ask(number=1, timeout=LAST_WORDS) == "reply"
    await stage.is_dismissed()


def _factory(stage: Stage) -> type:
    class Worker:
        def __init__(self) -> None:
            stage.now()

        @handles
        async def work(self, ping: Ping) -> Pong:
            return Pong(ping.number)

    return Worker


# -- observers


class _OnEvent:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def on_event(self, event: Event, /) -> None:
        self.stage.now()


class _Wants(_OnEvent):
    def on_event(self, event: Event, /) -> None:
        return

    def wants(self, level: Level, /) -> bool:
        return self.stage.now()  # type: ignore[return-value]  # that is the trick


def _observed(make: Callable[[Stage], Observer]) -> Callable[[Stage], Hub]:
    return lambda stage: Hub(observer=make(stage), grace=GRACE)


async def _everything(stage: Stage) -> None:
    """Let happen what there are events and logs of; all goes its usual way."""
    hub = stage.hub
    hub.register("echo", echo, topics=["news"])
    hub.register("fails", _failing)
    hub.register("full", _hanging, mailbox=1)
    hub.register("anew", _hooked(stage, ""), supervision=Restart(max=9, backoff=0))
    assert await stage.ask("echo") == "reply"
    assert await stage.ask("fails") == "HandlerFailed"
    assert await stage.ask("full", timeout=0.01) == "RequestTimeout"
    assert await stage.ask("anew", number=OUR_FAILURE) == "HandlerFailed"
    assert await stage.ask("anew", number=1, timeout=1) == "reply"
    assert await stage.attempt(lambda: hub.send("fails", Ping())) == "reply"
    assert await stage.attempt(lambda: hub.publish("news", Ping())) == "reply"
    assert await stage.attempt(lambda: hub.publish("news", "no ping")) == "reply"
    for _ in range(2):
        assert await stage.attempt(lambda: hub.send("full", Ping(), ttl=0.01)) == "reply"
        await anyio.lowlevel.checkpoint()
    async with hub.listen("news") as stream:
        await hub.publish("news", Ping(1))
        assert (await anext(stream)).data == Ping(1)
    await stage.is_dismissed("full", drain=False)
    await stage.is_dismissed("echo")


async def _failing(ping: Ping) -> None:
    raise Odd


async def _hanging(ping: Ping) -> None:
    await sleep(1000)


def _in_a_thread(make: Callable[[Stage], Observer]) -> Callable[[Stage], Hub]:
    def hub(stage: Stage) -> Hub:
        stage.queued = Queued(make(stage))
        return Hub(observer=stage.queued, grace=GRACE)

    return hub


async def _queued(stage: Stage) -> None:
    """The thread goes on whatever happens to it."""
    await _everything(stage)
    assert stage.queued is not None
    assert stage.queued.close(timeout=2)


# -- logs


def _logging(install: Callable[[Stage, logging.Handler], None]) -> Any:
    async def play(stage: Stage) -> None:
        handler = logging.Handler()
        install(stage, handler)
        logger = logging.getLogger("stagepost")
        propagates, logger.propagate = logger.propagate, False
        logger.addHandler(handler)
        try:
            await _everything(stage)
        finally:
            logger.removeHandler(handler)
            logger.propagate = propagates

    return play


def _emit(stage: Stage, handler: logging.Handler) -> None:
    def emit(record: logging.LogRecord) -> None:
        if stage.now():
            return

    handler.emit = emit  # type: ignore[method-assign]  # as a subclass would


def _filter(stage: Stage, handler: logging.Handler) -> None:
    handler.addFilter(lambda record: stage.now())  # type: ignore[arg-type,return-value]  # that is the trick


def _formatter(stage: Stage, handler: logging.Handler) -> None:
    class Formatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return stage.now()  # type: ignore[return-value]  # that is the trick

    def emit(record: logging.LogRecord) -> None:
        handler.format(record)

    handler.setFormatter(Formatter())
    handler.emit = emit  # type: ignore[method-assign]  # as a subclass would


# -- values


def _hostile_value(stage: Stage) -> Any:
    """A value that plays the trick whatever one asks it."""

    def play(self: object, *args: object) -> Any:
        return stage.now()

    names = (
        "__eq__",
        "__hash__",
        "__repr__",
        "__str__",
        "__bool__",
        "__len__",
        "__format__",
        "__iter__",
        "__getitem__",
    )
    return type("Hostile", (), dict.fromkeys(names, play) | {"size": property(play)})


def _payload(**options: Any) -> Any:
    async def play(stage: Stage) -> None:
        hostile = _hostile_value(stage)

        async def work(payload: hostile) -> Pong:  # type: ignore[valid-type]  # a class of its own for each test
            return Pong(1)

        hub, allowed = stage.hub, {"reply"} if not options.get("is_asked") else {"reply", "own", "HandlerFailed"}
        hub.register("victim", work, topics=["news"], mailbox=1, overflow="drop_oldest")
        for _ in range(2):
            assert await stage.attempt(lambda: hub.request("victim", hostile(), timeout=1)) in allowed
            assert await stage.attempt(lambda: hub.send("victim", hostile())) in allowed
            assert await stage.attempt(lambda: hub.send("victim", hostile(), ttl=1)) in allowed
            assert await stage.attempt(lambda: hub.publish("news", hostile())) in allowed
            assert await stage.attempt(lambda: hub.broadcast(hostile())) in allowed
            assert await stage.attempt(lambda: hub.request("bystander", hostile())) in ("NoHandler", "own")
        await stage.is_dismissed()

    return play


def _checked(stage: Stage) -> Hub:
    return Hub(observer=stage.recorder, grace=GRACE, check_payloads=True)


async def _subclass_check(stage: Stage) -> None:
    """An agent's payload class is asked for each payload; those who send to others, or to all, do not feel it."""

    class Meta(type):
        def __subclasscheck__(cls, subclass: type) -> bool:
            return stage.now()  # type: ignore[return-value]  # that is the trick

        __instancecheck__ = __subclasscheck__

    class Wide(metaclass=Meta):
        pass

    async def work(wide: Wide) -> Pong:
        return Pong(1)

    hub = stage.hub
    hub.register("victim", work, topics=["news"])
    hub.register("echo", echo, topics=["news"])
    delivery = await hub.broadcast(Ping(1))
    assert {"bystander", "echo"} <= set(delivery.delivered)
    delivery = await hub.publish("news", Ping(1))
    assert "echo" in delivery.delivered
    assert await stage.attempt(lambda: hub.request("victim", Ping(1), timeout=1)) is not None
    await stage.is_dismissed()


async def _expect(stage: Stage) -> None:
    """What a requester expects is its own affair."""

    class Meta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return stage.now()  # type: ignore[return-value]  # that is the trick

    class Odder(metaclass=Meta):
        pass

    outcome = await stage.attempt(lambda: stage.hub.request("bystander", Ping(1), expect=Odder, timeout=1))
    assert outcome in ("reply", "UnexpectedReply", "own")


async def _headers(stage: Stage) -> None:
    """So are its headers."""

    class Headers(Mapping[str, str]):
        def __getitem__(self, key: str) -> str:
            return stage.now()  # type: ignore[return-value]  # that is the trick

        def __iter__(self) -> Iterator[str]:
            stage.now()
            return iter(("a",))

        def __len__(self) -> int:
            return 1

    for _ in range(2):
        assert await stage.attempt(lambda: stage.hub.send("bystander", Ping(), headers=Headers())) is not None
        assert await stage.attempt(lambda: stage.hub.publish("news", Ping(), headers=Headers())) is not None


async def _identity(stage: Stage) -> None:
    """Whoever registers an object that does not tell its id hears of it."""

    class Nobody:
        @property
        def id(self) -> str:
            return stage.now()  # type: ignore[return-value]  # that is the trick

        @handles
        async def work(self, ping: Ping) -> Pong:
            return Pong(1)

    async def register() -> None:
        stage.hub.register(Nobody())

    assert await stage.attempt(register) != "reply"
    assert stage.hub.agents == ("bystander",)


async def _registry(stage: Stage) -> None:
    """Whoever makes a hub from configuration hears of an observer that cannot be made; an odd one harms nobody."""
    made: list[Hub] = []

    async def make() -> None:
        made.append(Hub.from_config(HubConfig(observers=("odd",)), Registry({"odd": stage.now})))  # type: ignore[dict-item]  # that is the trick

    await stage.attempt(make)
    for hub in made:
        with fail_after(LAST_WORDS):
            async with hub:
                hub.register("echo", echo)
                assert await hub.request("echo", Ping(1), timeout=1) == Pong(1)


_SYNC_HOOK = "as a plain function"

PLACES: tuple[Place, ...] = (
    Place("async handler", "later", _handler(_async_function)),
    Place("handler", "now", _handler(_function)),
    Place("handler with context", "later", _handler(_with_context), is_varied=True),
    Place("handler with message", "later", _handler(_with_message), is_varied=True),
    Place("handler of an object", "later", _handler(lambda stage: _method_class(stage)()), is_varied=True),
    Place("sync handler of an object", "now", _handler(lambda stage: _sync_method_class(stage)()), is_varied=True),
    Place("handler of a class", "later", _handler(_method_class), is_varied=True),
    Place("restarted handler", "later", _handler(_method_class, supervision=Restart(max=999, backoff=0))),
    Place("callable object", "later", _handler(_callable), is_varied=True),
    Place("detached handler", "later", _handler(_async_function, detach=True)),
    Place("one of three handlers", "later", _handler(_async_function, concurrency=3), is_varied=True),
    Place("middleware before", "later", _handler(lambda stage: echo), _with_middleware("before"), is_varied=True),
    Place("middleware after", "later", _handler(lambda stage: echo), _with_middleware("after"), is_varied=True),
    Place("middleware instead", "later", _handler(lambda stage: echo), _with_middleware("instead")),
    Place("on_start", "later", _start(lambda stage: _hooked(stage, "on_start"))),
    Place(f"on_start {_SYNC_HOOK}", "now", _start(lambda stage: _hooked(stage, "on_start", is_async=False))),
    Place(
        "on_start, restarted",
        "later",
        _start(lambda stage: _hooked(stage, "on_start"), supervision=Restart(max=2, backoff=0.001), is_varied=True),
    ),
    Place("factory", "now", _start(_factory)),
    Place("factory, restarted", "now", _start(_factory, supervision=Restart(max=2, backoff=0.001)), is_varied=True),
    Place("on_stop", "later", _stop),
    Place(f"on_stop {_SYNC_HOOK}", "now", _stop_now),
    Place("on_stop at a restart", "later", _restart),
    Place("observer", "now", _everything, _observed(_OnEvent)),
    Place("observer's wants", "now", _everything, _observed(_Wants)),
    Place(
        "one of two observers",
        "now",
        _everything,
        _observed(lambda stage: MultiObserver(_OnEvent(stage), stage.recorder)),
    ),
    Place("queued observer", "now", _queued, _in_a_thread(_OnEvent), is_reached=False),
    Place("queued observer's wants", "now", _queued, _in_a_thread(_Wants), is_reached=False, is_varied=True),
    Place("log handler", "now", _logging(_emit)),
    Place("log filter", "now", _logging(_filter)),
    Place("log formatter", "now", _logging(_formatter)),
    Place("payload", "now", _payload(), is_reached=False),
    Place("checked payload", "now", _payload(is_asked=True), _checked, is_reached=False),
    Place("subclass check of a payload class", "now", _subclass_check),
    Place("class that is expected", "now", _expect),
    Place("headers", "now", _headers),
    Place("id of an object", "now", _identity),
    Place("registry", "now", _registry),
)
