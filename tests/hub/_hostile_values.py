"""Observers, log handlers and values that play a trick, and ways to have them called."""

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from anyio import fail_after, sleep
from anyio.lowlevel import checkpoint
from tests.hub._agents import Ping, Pong, echo
from tests.hub._hostile_errors import Odd
from tests.hub._hostile_handlers import OUR_FAILURE, hooked_class
from tests.hub._hostile_stage import GRACE, LAST_WORDS, Play, Stage

from stagepost.hub import Event, Hub, HubConfig, Level, Observer, Queued, Registry, Restart, handles


class OnEvent:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def on_event(self, _: Event, /) -> None:
        self.stage.now()


class Wants(OnEvent):
    def on_event(self, _: Event, /) -> None:
        return

    def wants(self, _: Level, /) -> bool:
        return self.stage.now()  # type: ignore[return-value]  # that is the trick


def observed(make: Callable[[Stage], Observer]) -> Callable[[Stage], Hub]:
    return lambda stage: Hub(observer=make(stage), grace=GRACE)


async def everything(stage: Stage) -> None:
    """Let happen what there are events and logs of; all goes its usual way."""
    hub = stage.hub
    hub.register("echo", echo, topics=["news"])
    hub.register("fails", _failing)
    hub.register("full", _hanging, mailbox=1)
    hub.register("anew", hooked_class(stage, ""), supervision=Restart(max=9, backoff=0))
    assert await stage.ask("echo") == "reply"
    assert await stage.ask("fails") == "HandlerFailed"
    assert await stage.ask("full", timeout=0.01) == "RequestTimeout"
    assert await stage.ask("anew", number=OUR_FAILURE) == "HandlerFailed"
    assert await stage.ask("anew", number=1, timeout=30) == "reply"
    assert await stage.attempt(lambda: hub.send("fails", Ping())) == "reply"
    assert await stage.attempt(lambda: hub.publish("news", Ping())) == "reply"
    assert await stage.attempt(lambda: hub.publish("news", "no ping")) == "reply"
    for _ in range(2):
        assert await stage.attempt(lambda: hub.send("full", Ping(), ttl=0.01)) == "reply"
        await checkpoint()
    async with hub.listen("news") as stream:
        await hub.publish("news", Ping(1))
        assert (await anext(stream)).data == Ping(1)
    await stage.is_dismissed("full", drain=False)
    await stage.is_dismissed("echo")


async def _failing(ping: Ping) -> None:
    raise Odd


async def _hanging(ping: Ping) -> None:
    await sleep(1000)


def in_a_thread(make: Callable[[Stage], Observer]) -> Callable[[Stage], Hub]:
    def hub(stage: Stage) -> Hub:
        stage.queued = Queued(make(stage))
        return Hub(observer=stage.queued, grace=GRACE)

    return hub


async def in_thread_everything(stage: Stage) -> None:
    """The thread goes on whatever happens to it."""
    await everything(stage)
    assert stage.queued is not None
    assert stage.queued.close(timeout=60)


# -- logs


def logged(install: Callable[[Stage, logging.Handler], None]) -> Play:
    async def play(stage: Stage) -> None:
        handler = logging.Handler()
        install(stage, handler)
        logging.getLogger("stagepost").addHandler(handler)  # whoever keeps the logs from pytest takes it away
        await everything(stage)

    return play


def emitting(stage: Stage, handler: logging.Handler) -> None:
    def emit(record: logging.LogRecord) -> None:
        if stage.now():
            return

    handler.emit = emit  # type: ignore[method-assign]  # as a subclass would


def filtering(stage: Stage, handler: logging.Handler) -> None:
    handler.handle = lambda record: bool(handler.filter(record))  # type: ignore[method-assign]  # and write nothing
    handler.addFilter(lambda _: stage.now())  # type: ignore[arg-type,return-value]  # that is the trick


def formatting(stage: Stage, handler: logging.Handler) -> None:
    class Formatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:  # noqa: ARG002 - the signature of formatters
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
    return type("Hostile", (), dict.fromkeys(names, play) | {"size": property(play), "__class__": property(play)})


def with_payload(**options: Any) -> Play:
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


def checking_hub(stage: Stage) -> Hub:
    return Hub(observer=stage.recorder, grace=GRACE, check_payloads=True)


async def subclass_check(stage: Stage) -> None:
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


async def expecting(stage: Stage) -> None:
    """What a requester expects is its own affair."""

    class Meta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return stage.now()  # type: ignore[return-value]  # that is the trick

    class Odder(metaclass=Meta):
        pass

    await stage.attempt(lambda: stage.hub.request("bystander", Ping(1), expect=Odder, timeout=1))


async def with_headers(stage: Stage) -> None:
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


async def identifying(stage: Stage) -> None:
    """Whoever registers an object that does not tell its id hears of it."""

    class Nobody:
        @property
        def id(self) -> str:
            return stage.now()  # type: ignore[return-value]  # that is the trick

        @handles
        async def work(self, _: Ping) -> Pong:
            return Pong(1)

    async def register() -> None:
        stage.hub.register(Nobody())

    assert await stage.attempt(register) != "reply"
    assert stage.hub.agents == ("bystander",)


async def configuring(stage: Stage) -> None:
    """Whoever makes a hub from configuration hears of an observer that cannot be made; an odd one harms nobody."""
    made: list[Hub] = []

    async def make() -> None:
        made.append(Hub.from_config(HubConfig(observers=("odd",)), Registry({"odd": stage.now})))  # type: ignore[dict-item]  # that is the trick

    await stage.attempt(make)
    for hub in made:
        with fail_after(LAST_WORDS):
            async with hub:
                hub.register("echo", echo)
                assert await hub.request("echo", Ping(1), timeout=30) == Pong(1)
