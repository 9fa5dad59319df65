"""How the hub's API looks to a type checker. Checked by mypy, never run."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_type

from stagepost.hub import (
    AgentMetrics,
    Bridge,
    Carried,
    Context,
    DeadLetter,
    Delivery,
    Event,
    GroupDescription,
    HandlerFailed,
    Hub,
    HubMetrics,
    LogObserver,
    Losses,
    Message,
    MultiObserver,
    NullObserver,
    Observer,
    Outgoing,
    OwnedTask,
    Portal,
    PortalStream,
    Priority,
    Proceed,
    Replies,
    ReplyStream,
    Restart,
    SendOn,
    StopReport,
    StuckAgent,
    TaskGuard,
    Timer,
    Traffic,
    bind_log_fields,
    get_logger,
    handles,
    leaves_of,
    new_guard,
    traceback_text,
)


@dataclass(frozen=True)
class Question:
    text: str


@dataclass(frozen=True)
class Answer:
    text: str


async def plain(question: Question) -> Answer:
    return Answer(question.text)


async def envelope(message: Message[Question], context: Context) -> Answer:
    assert_type(message.data, Question)
    assert_type(context.hub, Hub)
    assert_type(context.agent, str)
    assert_type(await context.request("plain", message.data, expect=Answer), Answer)
    assert_type(await context.request("plain", message.data, expect=Answer | None), Answer | None)
    await context.send("plain", message.data, headers={"a": "b"})
    await context.forward("plain")
    await context.hub.publish("a", message.data, cause=message)
    await context.hub.send("plain", message.data, cause=message.id)
    assert_type(await context.publish("a", message.data), Delivery)
    return Answer(message.data.text)


class Clerk:
    id = "clerk"

    @handles
    async def ask(self, question: Question) -> Answer:
        return Answer(question.text)

    @handles(list[int] | None)
    async def numbers(self, numbers: list[int] | None) -> None: ...

    @handles(str, bytes)
    async def text(self, text: str | bytes) -> None: ...


class Worker(Clerk):
    async def on_start(self, hub: Hub) -> None: ...


async def timed(context: Context, proceed: Proceed) -> object:
    assert_type(context.hub, Hub)
    return await proceed()


class Stamp:
    async def sending(self, outgoing: Outgoing, send_on: SendOn, /) -> object:
        return await send_on({**outgoing.headers, "a": "b"})


class Counter:
    def on_event(self, event: Event, /) -> None: ...


async def use_two(hub: Hub, report: Delivery) -> None:
    assert_type(hub.lost(report), Losses)
    assert_type(hub.describe().groups, tuple[GroupDescription, ...])
    async with Hub("other", middleware=[Stamp()], mailbox=None, timeout=None) as other:
        bridge = Bridge(hub, other, topics=["a.>"], map={"far": "plain@other"}, both_ways=False)
        assert_type(bridge.deliveries, tuple[Carried, ...])
        assert_type(bridge.deliveries[0].delivery, Delivery)
        await bridge.close()


async def use() -> None:
    observer: Observer = MultiObserver(NullObserver(), LogObserver(), Counter())
    async with Hub("main", observer=observer, middleware=[timed, bind_log_fields], grace=timedelta(seconds=3)) as hub:
        hub.register("plain", plain, concurrency=None, mailbox=10, detach=True)
        hub.register("envelope", envelope)
        hub.register(Clerk())
        assert_type(await hub.request("plain", Question("hi"), expect=Answer, timeout=5), Answer)
        assert_type(hub.stuck(longer_than=timedelta(minutes=1)), tuple[StuckAgent, ...])
        assert_type(hub.traffic(), tuple[Traffic, ...])
        for letter in hub.dead_letters:
            await hub.resend(letter, by="ada", timeout=None)
            await hub.resend(letter.message.id)
        assert_type(await hub.request("plain", Question("hi"), expect=list[str], timeout=None), list[str])
        assert_type(await hub.request("plain", Question("hi")), object)
        assert_type(await hub.request("plain", Question("hi"), expect=Answer | int), Answer | int)
        assert_type(await hub.request("plain", Question("hi"), expect=Answer | None), Answer | None)
        hub.register("other", Worker, topics="a.>")
        hub.register("worker", Worker, topics=["a.>"], overflow="drop_oldest", supervision=Restart(max=2))
        hub.subscribe("worker", "b", group="workers")
        hub.register("usual", plain, topics="a.>", group="workers", mailbox="default")
        report = await hub.publish("b", Question("hi"), timeout=1, ttl=5, priority=Priority.HIGH)
        assert_type(report, Delivery)
        assert_type(report.full, tuple[str, ...])
        assert_type(report.reached_nobody, bool)
        assert_type(await hub.broadcast(Question("hi")), Delivery)
        replies = await hub.request_many("b", Question("hi"), enough=2, expect=Answer)
        assert_type(replies, Replies[Answer])
        assert_type(replies.received, Mapping[str, Answer])
        assert_type(await hub.request_many("b", Question("hi"), expect=Answer | None), Replies[Answer | None])
        assert_type(await hub.request_many("b", Question("hi")), Replies[object])
        async with hub.listen("b", limit=None, overflow="drop_oldest") as stream:
            async for message in stream:
                assert_type(message, Message[Any])
        assert_type(hub.dead_letters, tuple[DeadLetter, ...])
        assert_type(hub.describe().mermaid(), str)
        assert_type(await Clerk().ask(Question("hi")), Answer)
        await hub.send("plain", Question("hi"), timeout=timedelta(seconds=1), trace="t")
        await hub.unregister("plain", drain=False)
        assert_type(await hub.drain(timeout=None), StopReport)
        assert_type(hub.metrics(), HubMetrics)
        assert_type(hub.metrics().agents["plain"], AgentMetrics)
        with hub.masking(str.upper):
            assert_type(traceback_text(ValueError(), str.upper), str)
            get_logger("mine", mask=str.upper).error("it", exc_info=ValueError())
        try:
            await hub.request("envelope", Question("hi"))
        except HandlerFailed as error:
            assert_type(error.cause, BaseException)
        hub.register("plain", plain, overflow="burst")  # type: ignore[arg-type]  # no such policy
        hub.register("plain", plain, mailbox="10")  # type: ignore[arg-type]  # a count is an int
        await hub.request("plain", 1, expect=1)  # type: ignore[call-overload]  # a class, not a value


async def starting_and_planning(context: Context) -> None:
    hub = await Hub().start()
    assert_type(hub, Hub)
    timer = await hub.send_later("plain", Question("hi"), after=timedelta(seconds=1))
    assert_type(timer, Timer)
    assert_type(timer.next_at, float | None)
    assert_type(await context.every(1, "plain", Question("hi"), jitter=0.5), Timer)
    assert_type(hub.spawn("plain", plain, Question("hi"), name="ask"), OwnedTask)
    assert_type(context.spawn(plain, Question("hi")), OwnedTask)
    context.spawn(plain, "hi")  # type: ignore[arg-type]  # a question is wanted
    await hub.stop()


def calling(portal: Portal) -> None:
    assert_type(portal.request("plain", Question("hi"), expect=Answer), Answer)
    assert_type(portal.request("plain", Question("hi"), expect=Answer | None), Answer | None)
    assert_type(portal.request("plain", Question("hi")), object)
    assert_type(portal.publish("a", Question("hi")), Delivery)
    assert_type(portal.stream("plain", Question("hi"), expect=Answer), PortalStream[Answer])
    assert_type(portal.stream("plain", Question("hi")), PortalStream[object])
    assert_type(list(portal.stream("plain", Question("hi"), expect=str)), list[str])
    assert_type(portal.request_many("a", Question("hi"), expect=Answer), Replies[Answer])
    portal.send("plain", Question("hi"), timeout=5)


def broader(message: Message[Answer]) -> Message[object]:
    return message


async def streaming(context: Context) -> None:
    assert_type(context.wants_parts, bool)
    assert_type(context.stream("a", Question("hi"), expect=Answer), ReplyStream[Answer])
    async for part in context.hub.stream("a", Question("hi"), expect=Answer | None, part_timeout=1, window=None):
        assert_type(part, Answer | None)
    async with context.hub.stream("a", Question("hi")) as parts:
        assert_type(await anext(parts), object)


async def guarded() -> None:
    """A task is guarded round the code of others."""
    guard: TaskGuard = new_guard(is_own=False)
    assert_type(guard.is_intact(), bool)
    assert_type(await guard.leave_scopes(), bool)
    assert_type(await guard.drop_cancellation(), bool)
    assert_type(list(leaves_of(ValueError())), list[BaseException])
